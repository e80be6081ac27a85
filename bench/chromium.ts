/** Where the browser is that the page is tested and measured in. */
export const chromiumPath = process.env.LAB_CHROMIUM ?? "/usr/bin/chromium";
