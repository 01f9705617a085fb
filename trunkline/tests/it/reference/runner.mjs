// Runs the samples of samples.json one after the other and prints what each of them heard.
import { readFileSync } from "node:fs";

const { fetch } = globalThis;
let last;
globalThis.fetch = async (...request) => {
  const response = await fetch(...request);
  last = { status: response.status, body: await response.clone().text() };
  return response;
};

const heard = [];
const print = console.log;
for (const { name, file, token } of JSON.parse(readFileSync("samples.json", "utf8"))) {
  process.env.TOKEN = token;
  last = undefined;
  console.log = () => {};
  try {
    await import(`./${file}`);
  } catch (error) {
    throw new Error(`${name}: ${error.stack}`);
  } finally {
    console.log = print;
  }
  heard.push({ name, ...last });
}
console.log(JSON.stringify(heard));
