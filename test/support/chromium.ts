/** Where the browser of the page tests is. */
export const chromiumPath = process.env.LAB_CHROMIUM ?? "/usr/bin/chromium";
