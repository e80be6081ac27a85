/** Certificates for tests, made by openssl: an authority, and what it signed. */

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export type Certificate = {
  /** PEM. */
  cert: string;
  key: string;
};

export type Authority = {
  /** The authority's own certificate, PEM. */
  ca: string;
  /** `name` is the CN; `hosts` as openssl spells them, loopback unless given. */
  issue(options: { name: string; hosts?: readonly string[]; isExpired?: boolean }): Promise<Certificate>;
};

/** Makes a key and a certificate of its own in `folder`, which the caller removes. */
export async function createAuthority(folder: string, name: string): Promise<Authority> {
  const openssl = (args: readonly string[]) => run("openssl", args, { cwd: folder });
  const at = (file: string) => join(folder, file);
  await openssl([
    ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
    ...["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`, "-days", "30"],
  ]);
  let issued = 0;
  return {
    ca: await readFile(at(`${name}.pem`), "utf8"),
    async issue({ name: subject, hosts = ["DNS:localhost", "IP:127.0.0.1"], isExpired = false }) {
      issued += 1;
      const serial = String(issued);
      const id = `${name}-${serial}`;
      await openssl([
        ...["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
        ...["-keyout", `${id}.key`, "-out", `${id}.csr`, "-subj", `/CN=${subject}`],
      ]);
      await writeFile(at(`${id}.ext`), `subjectAltName=${hosts.join(",")}\n`);
      const days = isExpired ? "-1" : "30";
      await openssl([
        ...["x509", "-req", "-in", `${id}.csr`, "-CA", `${name}.pem`, "-CAkey", `${name}.key`],
        ...["-set_serial", serial, "-out", `${id}.pem`, "-days", days, "-extfile", `${id}.ext`],
      ]);
      return { cert: await readFile(at(`${id}.pem`), "utf8"), key: await readFile(at(`${id}.key`), "utf8") };
    },
  };
}
