// Nacre as OpenClaw's memory: registrations only. What is found, said and written is decided by Nacre itself, which is
// asked over the socket of its daemon; contract.json is made from its tools and rules.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

import { ANSWER_WITHIN, Daemon, Refused } from "./daemon.js";

const contract = JSON.parse(readFileSync(new URL("./contract.json", import.meta.url), "utf8"));
const READ_WITHIN = 10_000; // milliseconds; the model asked and waits, unlike a turn that is only to be given something
const WRITE_WITHIN = 15_000; // what is being written is not given up like an answer that nobody needs any more
const REFRESH_WITHIN = 28_000;
const KEEP_AWAKE = 600_000; // the daemon ends when nobody has asked for half an hour: while a gateway runs, somebody may
const WORDS = {
  en: {
    unreachable: "Nacre cannot be reached, so memory is not available in this turn. Continue without it, and tell the user to run `nacre doctor` to find out why.",
    closed: "Memory is not available in this session: it is unclear whom the session works for.",
    missing: "nacre was not found; set plugins.entries.nacre.config.command to its path.",
    refresh: "Save this session as a checkpoint and update memory",
  },
  zh: {
    unreachable: "无法连接 Nacre，本轮没有记忆可用。请在没有记忆的情况下继续，并告诉用户：运行“nacre doctor”可查看原因。",
    closed: "此会话不能使用记忆：无法确定它在为谁工作。",
    missing: "找不到 nacre；请把 plugins.entries.nacre.config.command 设为它的路径。",
    refresh: "将本次会话存为检查点，并更新记忆",
  },
};
const NAMES = contract.tools.en.map((tool) => tool.name);
// Registration runs several times in one process, each time with a copy of this module: these are for all of them.
const shared = (globalThis[Symbol.for("nacre")] ??= {
  daemons: new Map(), // by executable and workspace
  told: new Map(), // by daemon: what promptBuilder and flushPlanResolver answer with, which cannot wait
  usual: undefined, // the workspace of the first agent, once the gateway has named it
});
const { daemons, told } = shared;

function register(api) {
  const settings = api.pluginConfig ?? {};
  let awake;

  function daemonOf(ctx = {}) {
    const workspace = settings.workspace || workspaceOf(api, ctx);
    const key = `${settings.command ?? ""}\n${workspace ?? ""}`;
    if (!daemons.has(key)) {
      daemons.set(key, new Daemon({ command: settings.command, workspace, log: (line) => api.logger.warn(`nacre: ${line}`) }));
    }
    return daemons.get(key);
  }

  function hook(daemon, scope, name, ctx, given = {}, options = {}) {
    const { agentId, sessionKey, sessionId } = ctx;
    const event = { hook_event_name: name, agentId, sessionKey, sessionId, ...given };
    return daemon.ask(scope, { kind: "hook", of: "openclaw", event }, options).then((answer) => answer.answer);
  }

  /** Who listens in a session: Nacre knows what its talks are stamped with. Asked every time, since sessions change. */
  async function scopeOf(daemon, ctx, options) {
    const { scope } = await hook(daemon, "main", "scope", ctx, {}, options);
    if (!scope) throw new Refused(WORDS[language(daemon)].closed);
    return scope;
  }

  function language(daemon) {
    return told.get(daemon)?.language ?? (/^zh/i.test(process.env.LC_ALL || process.env.LANG || "") ? "zh" : "en");
  }

  /** What the two synchronous questions of OpenClaw are answered with, brought up to date without keeping anybody waiting. */
  function prepare(daemon) {
    return Promise.all([
      hook(daemon, "main", "prompt_section", {}),
      hook(daemon, "main", "flush_plan", {}),
    ]).then(
      ([section, { plans }]) => told.set(daemon, { ...section, plans }),
      () => {},
    );
  }

  async function use(ctx, name, params, within, signal) {
    const daemon = daemonOf(ctx);
    try {
      const scope = await scopeOf(daemon, ctx, { within: READ_WITHIN, signal });
      const question = { kind: "tool", name, arguments: params ?? {} };
      const { result } = await daemon.ask(scope, question, { within, signal });
      return { content: [{ type: "text", text: JSON.stringify(result) }], details: result };
    } catch (trouble) {
      const error = trouble instanceof Refused ? trouble.message : WORDS[language(daemon)].unreachable;
      const details = trouble instanceof Refused ? { error } : { disabled: true, unavailable: true, error, cause: trouble.message };
      return { content: [{ type: "text", text: error }], details };
    }
  }

  for (const name of NAMES) {
    const make = (ctx) => {
      const { reads, ...tool } = contract.tools[language(daemonOf(ctx))].find((one) => one.name === name);
      const execute = (_id, params, signal) => use(ctx, name, params, reads ? READ_WITHIN : WRITE_WITHIN, signal);
      return { ...tool, catalogMode: "direct-only", execute };
    };
    api.registerTool(make, { name });
  }

  api.registerMemoryCapability({
    promptBuilder({ availableTools, agentId, agentSessionKey }) {
      const daemon = daemonOf({ agentId });
      if (!NAMES.some((name) => availableTools.has(name))) return [];
      const sections = contract.sections[language(daemon)];
      if (/(^|:)(group|channel):/.test(agentSessionKey ?? "")) return sections.group;
      return told.get(daemon)?.elsewhere ? sections.elsewhere : sections.private;
    },
    flushPlanResolver({ nowMs = Date.now() }) {
      const daemon = daemonOf();
      const known = told.get(daemon)?.plans.find((one) => nowMs < one.until);
      void prepare(daemon);
      return known ? known.plan : dated(contract.flush[language(daemon)], new Date(nowMs));
    },
  });

  const quietly = async (work) => {
    try {
      return await work(AbortSignal.timeout(ANSWER_WITHIN));
    } catch (trouble) {
      api.logger.debug?.(`nacre: ${trouble.message}`);
      return undefined; // a turn never fails for its memory
    }
  };

  api.on(
    "before_prompt_build",
    (event, ctx) =>
      quietly(async (signal) => {
        const other = ctx.inputProvenance && ctx.inputProvenance.kind !== "external_user";
        if (ctx.trigger !== "user" || other || !(ctx.toolAuthority?.allows("memory_search") ?? false)) return undefined;
        const daemon = daemonOf(ctx);
        const scope = await scopeOf(daemon, ctx, { signal });
        const prompt = shortened(event.currentUserMessage ?? event.prompt ?? "");
        const given = await hook(daemon, scope, "before_prompt_build", ctx, { prompt }, { signal });
        return given?.prependContext ? { prependContext: given.prependContext } : undefined;
      }),
    { timeoutMs: ANSWER_WITHIN + 500, requiresToolAuthority: true },
  );

  const tell = (name) => (event, ctx) =>
    quietly(async (signal) => {
      const daemon = daemonOf(ctx);
      const { trigger } = ctx;
      const given = { trigger, success: event.success, reason: event.reason };
      const answer = await hook(daemon, "main", name, ctx, given, { signal });
      if (answer?.ended) await daemon.ask("main", { kind: "ended", transcript: answer.ended }, { signal });
      void prepare(daemon);
    });
  api.on("agent_end", tell("agent_end"));
  api.on("before_reset", tell("before_reset"));

  api.registerCommand({
    name: "refresh",
    description: WORDS.en.refresh,
    descriptionLocalizations: { "zh-CN": WORDS.zh.refresh },
    handler: async (ctx) => {
      const daemon = daemonOf(ctx);
      try {
        const scope = await scopeOf(daemon, ctx, { within: READ_WITHIN });
        const answer = await hook(daemon, scope, "refresh", ctx, {}, { within: REFRESH_WITHIN });
        return { text: answer.text };
      } catch (trouble) {
        return { text: trouble instanceof Refused ? trouble.message : WORDS[language(daemon)].unreachable };
      }
    },
  });

  api.registerService({
    id: "nacre",
    start(ctx) {
      shared.usual = ctx.workspaceDir;
      const daemon = daemonOf();
      void prepare(daemon);
      awake = setInterval(() => prepare(daemon), KEEP_AWAKE);
      awake.unref();
    },
    stop() {
      clearInterval(awake);
      for (const daemon of daemons.values()) daemon.close();
    },
  });

  const cli = { name: "nacre", description: "Nacre's own command line, for this agent's workspace", hasSubcommands: true };
  api.registerCli(({ program, workspaceDir }) => {
    const command = program.command(cli.name).description(cli.description);
    command.allowUnknownOption().allowExcessArguments().helpOption(false).argument("[arguments...]");
    command.action(() => passOn(settings, settings.workspace || workspaceDir));
  }, { descriptors: [cli] });
}

/** The workspace of the agent that asks, by its settings: a sandbox has a copy of it, which is no place for memory. */
function workspaceOf(api, ctx) {
  try {
    const named = ctx.workspaceDir ?? shared.usual;
    return ctx.agentId || !named ? api.runtime.agent.resolveAgentWorkspaceDir(api.config, ctx.agentId || "main") : named;
  } catch {
    return ctx.workspaceDir ?? shared.usual;
  }
}

/** `openclaw nacre …`: the same words to Nacre's own command line. */
function passOn(settings, workspace) {
  const words = process.argv.slice(process.argv.indexOf("nacre", 2) + 1);
  const env = workspace ? { ...process.env, OPENCLAW_WORKSPACE: workspace } : process.env;
  return new Promise((resolve) => {
    const child = spawn(settings.command || "nacre", words, { stdio: "inherit", env });
    const end = (code) => ((process.exitCode = code), resolve());
    child.on("error", () => (console.error(WORDS.en.missing), end(127)));
    child.on("exit", (code, signal) => end(signal ? 1 : code));
  });
}

/** A prompt as far as it is looked at: a pasted book stands in its middle, and is more than the daemon reads. */
function shortened(prompt) {
  return prompt.length <= 20_000 ? prompt : `${prompt.slice(0, 13_000)}\n${prompt.slice(-7_000)}`;
}

/** The plan that holds while Nacre cannot be asked, for the day by this machine's clock. */
function dated(plan, now) {
  const parts = [now.getFullYear(), now.getMonth() + 1, now.getDate()];
  const day = parts.map((part) => String(part).padStart(2, "0")).join("-");
  return JSON.parse(JSON.stringify(plan).replaceAll("YYYY-MM-DD", day));
}

export default { id: "nacre", name: "Nacre", description: "Memory in plain Markdown, kept on this machine.", register };
