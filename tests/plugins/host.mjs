// Stands in for OpenClaw: registers the plugin and does what each line of stdin asks for, one JSON answer a line.
// node host.mjs INDEX.JS CONFIG

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , index, config] = process.argv;
const seen = { tools: {}, hooks: {}, commands: {}, services: {}, logged: [] };
const register = async (copy = "") => (await import(pathToFileURL(index) + copy)).default.register(api);
const api = {
  pluginConfig: JSON.parse(config),
  config: {},
  logger: { info() {}, debug() {}, warn: (line) => seen.logged.push(line) },
  runtime: {},
  registerTool: (make, { name }) => (seen.tools[name] = make),
  registerMemoryCapability: (capability) => (seen.memory = capability),
  registerCommand: (command) => (seen.commands[command.name] = command),
  registerService: (service) => (seen.services[service.id] = service),
  registerCli: () => {},
  on: (name, handler) => (seen.hooks[name] = handler),
};
await register();

const allowed = { toolAuthority: { allows: () => true } };
const deeds = {
  tool: ({ name, ctx = {}, params = {} }) => seen.tools[name](ctx).execute("1", params),
  tools: () => Object.keys(seen.tools),
  hook: ({ name, event = {}, ctx = {} }) => seen.hooks[name](event, { ...allowed, ...ctx }),
  prompt: ({ key, tools }) => seen.memory.promptBuilder({ availableTools: new Set(tools ?? Object.keys(seen.tools)), agentSessionKey: key }),
  flush: ({ nowMs }) => seen.memory.flushPlanResolver({ nowMs }),
  command: ({ name, ctx = {} }) => seen.commands[name].handler(ctx),
  again: () => register("?copy"),
  start: () => seen.services.nacre.start({}),
  stop: () => seen.services.nacre.stop({}),
  together: async ({ deeds: several }) => {
    let first;
    const answers = await Promise.all(
      several.map(async ({ do: deed, ...given }, at) => {
        const answer = await deeds[deed](given);
        first ??= at;
        return answer;
      }),
    );
    return { first, answers };
  },
  wait: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
  logged: () => seen.logged,
};
for await (const line of createInterface({ input: process.stdin })) {
  const { do: deed, ...given } = JSON.parse(line);
  console.log(JSON.stringify((await deeds[deed](given)) ?? null));
}
