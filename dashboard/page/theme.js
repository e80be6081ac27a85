// Runs before the first paint, so that a stored theme does not flash; main.js changes it later.
(() => {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
