// Health check of a container: exits 0 if the URL given answers well. The image has node and no curl.
const [url] = process.argv.slice(2);
const answer = await fetch(url, { signal: AbortSignal.timeout(5000) }).catch((error) => error);
if (!answer.ok) {
  console.error(answer instanceof Error ? `${url}: ${answer.message}` : `${url}: HTTP ${answer.status}`);
  process.exitCode = 1;
}
