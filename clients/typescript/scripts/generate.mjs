// Generates src/generated from openapi.json: the types, and the few facts about operations that the client needs while
// it runs. Responses other than 2xx are left out, because the client throws them as a ProblemError.

import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const MUTATING = ["post", "put", "patch", "delete"];

const root = new URL("../../../", import.meta.url);
const generated = new URL("../src/generated/", import.meta.url);
const document = JSON.parse(await readFile(new URL("openapi.json", root), "utf8"));

/** Mutating operations without an Idempotency-Key, which must not be sent again when their response is lost. */
const unkeyed = [];

for (const [path, operations] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    if (!operation.responses) continue;
    const parameters = operation.parameters ?? [];
    if (MUTATING.includes(method) && !parameters.some((parameter) => parameter.name === "Idempotency-Key")) {
      unkeyed.push(`${method.toUpperCase()} ${path}`);
    }
    operation.parameters = parameters.filter((parameter) => parameter.in !== "header");
    for (const [status, response] of Object.entries(operation.responses)) {
      if (status.startsWith("2")) delete response.headers;
      else delete operation.responses[status];
    }
  }
}

const types = await openapiTS(document, { defaultNonNullable: false, alphabetize: false });
const banner = "// Generated from openapi.json by scripts/generate.mjs.\n\n";
const list = unkeyed.map((operation) => `  ${JSON.stringify(operation)},\n`).join("");

await mkdir(generated, { recursive: true });
await writeFile(new URL("openapi.ts", generated), banner + astToString(types));
await writeFile(
  new URL("operations.ts", generated),
  `${banner}/** Mutating operations without an Idempotency-Key. */\nexport const UNKEYED: ReadonlySet<string> = new Set([\n${list}]);\n`,
);
await cp(new URL("LICENSE", root), new URL("../LICENSE", import.meta.url));
