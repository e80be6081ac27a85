/** TCP ports of this machine: a free one, whether one answers, and who holds it. */

import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null) throw new LabError("INTERNAL", "the machine has no free port");
  return port;
}

/** True when a server could listen on the port of 127.0.0.1 and of all addresses. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null && (await listenOnce(port, "0.0.0.0")) !== null;
}

/** PORT_TAKEN, naming the port and, where it can be found, the process that holds it. */
export async function requireFreePort(port: number, hint: string): Promise<void> {
  if (!(await isPortFree(port))) throw await portTaken(port, hint);
}

/** The error for a port that is in use. */
export async function portTaken(port: number, hint: string, cause?: unknown): Promise<LabError> {
  const holder = await portHolder(port);
  const by = holder === null ? "" : ` by ${holder.name} (pid ${holder.pid})`;
  return new LabError("PORT_TAKEN", `port ${port} is in use${by}`, {
    hint,
    details: { port, ...(holder === null ? {} : { pid: holder.pid, process: holder.name }) },
    cause,
  });
}

/** True when something accepts a TCP connection there within `timeoutMs`. Rejects only when the signal aborts. */
export async function canConnect(
  host: string,
  port: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  const isOpen = await new Promise<boolean>((resolve) => {
    const socket = connect({ host, port });
    const done = (answer: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(answer);
    };
    const onAbort = () => done(false);
    const timer = setTimeout(() => done(false), timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
  signal.throwIfAborted();
  return isOpen;
}

/** The process that listens on a port, as far as this user may see it. */
export async function portHolder(port: number): Promise<{ pid: number; name: string } | null> {
  return (await holderFromProc(port)) ?? (await holderFromLsof(port));
}

function listenOnce(port: number, host = "127.0.0.1"): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}

/** Linux: /proc/net/tcp names the socket's inode, and some process has a descriptor of it. */
async function holderFromProc(port: number): Promise<{ pid: number; name: string } | null> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const inodes = new Set<string>();
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const text = await readFile(table, "utf8").catch(() => "");
    for (const line of text.split("\n").slice(1)) {
      const fields = line.trim().split(/\s+/);
      const isListening = fields[3] === "0A";
      if (isListening && fields[1]?.endsWith(suffix) && fields[9]) inodes.add(`socket:[${fields[9]}]`);
    }
  }
  if (inodes.size === 0) return null;
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => "");
      if (!inodes.has(target)) continue;
      const name = await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "a process");
      return { pid: Number(pid), name: name.trim() };
    }
  }
  return null;
}

async function holderFromLsof(port: number): Promise<{ pid: number; name: string } | null> {
  const args = ["-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc"];
  const found = await promisify(execFile)("lsof", args, { timeout: 3000 }).catch(() => null);
  const pid = found?.stdout.match(/^p(\d+)$/m)?.[1];
  const name = found?.stdout.match(/^c(.+)$/m)?.[1];
  return pid === undefined ? null : { pid: Number(pid), name: name ?? "a process" };
}
