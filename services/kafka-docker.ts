/** A broker in a container. */
import { LabError } from "../core/errors.ts";
export type DockerBroker = { port: number; exited: Promise<unknown>; close(): Promise<void> };
export async function startDockerBroker(_options: {
  dataDir: string;
  port: number;
  config: Readonly<Record<string, string>>;
  signal: AbortSignal;
}): Promise<DockerBroker> {
  throw new LabError("SERVICE_UNAVAILABLE", "Docker is not used yet");
}
