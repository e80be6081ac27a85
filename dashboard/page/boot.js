// Runs before anything else: the stored theme, so that it does not flash, the token of the link, and a page that came only in part.
(() => {
  // What may change something carries it. It leaves the address, so that a link that is passed on does not hand it out.
  const link = new URL(location.href);
  const token = link.searchParams.get("token");
  if (token !== null) {
    localStorage.setItem("token", token);
    link.searchParams.delete("token");
    history.replaceState(null, "", link.pathname + link.search);
  }

  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

  // A change of network (a container that starts is one) breaks off what is just loading. Half a page never works: load it anew.
  const TRIES = 5;
  let isBroken = false;
  addEventListener(
    "error",
    ({ target }) => {
      const isPart = target instanceof HTMLScriptElement || target instanceof HTMLLinkElement;
      if (!isPart || isBroken) return;
      isBroken = true;
      const tries = Number(sessionStorage.getItem("loads") ?? 0) + 1;
      sessionStorage.setItem("loads", String(tries));
      if (tries < TRIES) setTimeout(() => location.reload(), 500 * tries);
      else
        addEventListener("load", () => {
          const place = document.getElementById("connection");
          if (place !== null) place.textContent = "The page did not load whole. Reload it.";
        });
    },
    true,
  );
  addEventListener("load", () => {
    if (!isBroken) sessionStorage.removeItem("loads");
  });
})();
