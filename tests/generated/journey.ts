// README's journey through the client that openapi-typescript and openapi-fetch make of openapi.yaml: submit, wait, fetch plan and report, a
// refusal. tsc checks it, so that a field that openapi.yaml does not have does not compile. Prints what it saw as one line of JSON.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Job = components["schemas"]["Job"];
const [url, module] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl: url });

async function submitted(device: string) {
  return client.POST("/v1/jobs", {
    body: {
      module: { inline: readFileSync(module, "utf8") },
      mesh: { axes: [{ name: "data", size: 4 }, { name: "model", size: 2 }] },
      device,
      budget: { rollouts: 200 },
    },
  });
}

async function ended(id: string): Promise<Job> {
  for (;;) {
    const { data, error } = await client.GET("/v1/jobs/{id}", { params: { path: { id }, header: { Prefer: "wait=5" } } });
    if (!data) throw new Error(JSON.stringify(error));
    if (["succeeded", "failed", "cancelled", "expired", "dead"].includes(data.state)) return data;
  }
}

const accepted = await submitted("a100-40");
if (!accepted.data || !("id" in accepted.data)) throw new Error(JSON.stringify(accepted.error));
const job = await ended(accepted.data.id);
const path = { id: job.id };
const plan = await client.GET("/v1/jobs/{id}/plan", { params: { path } });
const artifacts = await client.GET("/v1/jobs/{id}/artifacts", { params: { path } });
const report = await client.GET("/v1/jobs/{id}/artifacts/{name}", { params: { path: { ...path, name: "report.txt" } }, parseAs: "text" });
if (!plan.data || !artifacts.data) throw new Error(JSON.stringify(plan.error));
const refused = await submitted("no-such-device");
console.log(JSON.stringify({
  state: job.state,
  arguments: plan.data.arguments.length,
  hash: plan.data.hash,
  artifacts: artifacts.data.artifacts.map(artifact => artifact.name),
  report: String(report.data).length,
  refused: refused.error?.code,
}));
