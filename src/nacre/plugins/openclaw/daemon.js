// Asks the daemon of a workspace over its socket, and has it started when it is not there.
//
// Messages are four bytes of length and one JSON object; every question gets one answer, in turn. Who listens is fixed
// by the first message of a connection, so each listener has a connection of its own.

import { execFile } from "node:child_process";
import { connect } from "node:net";

export const ANSWER_WITHIN = 2_500; // milliseconds; a turn does not wait longer for its memory
const START_WITHIN = 45_000; // with its models loaded, so that the first search need not wait for them
const TRY_AGAIN = 10_000; // after a start that failed: the next question does not pay for another one
const PROTOCOL = 1;
const MOST = 16_000_000; // bytes of an answer

/** Nobody answers: the turn goes on without memory. */
export class Unreachable extends Error {}

/** Whoever answered before has ended or was renewed: another may be there. */
class Gone extends Unreachable {}

/** Nacre answered, and its answer is a refusal in a sentence. */
export class Refused extends Error {}

/** One connection, for one listener: questions wait for each other. */
class Connection {
  constructor(socket) {
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.waiting = null;
    this.turn = Promise.resolve();
    this.closed = null; // why, once it is
    socket.on("data", (data) => this.take(data));
    socket.on("error", () => this.close(new Gone("the connection has ended")));
    socket.on("close", () => this.close(new Gone("the connection has ended")));
    socket.unref(); // a command that is done does not stay for our sake
  }

  static open(path) {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      const failed = (trouble) => reject(new Gone(trouble.message));
      socket.once("error", failed);
      socket.once("connect", () => {
        socket.off("error", failed);
        resolve(new Connection(socket));
      });
    });
  }

  ask(message, within, signal) {
    const answer = this.turn.then(() => this.exchange(message, within, signal));
    this.turn = answer.catch(() => {});
    return answer;
  }

  exchange(message, within, signal) {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(new Gone("the connection has ended"));
      if (signal?.aborted) return reject(new Unreachable("the turn was ended"));
      const give = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
        this.waiting = null;
        this.socket.unref();
      };
      const stop = () => this.close(new Unreachable("no answer came in time")); // a late one would be the next question's
      const timer = setTimeout(stop, within);
      this.waiting = {
        answered: (value) => (give(), resolve(value)),
        failed: (trouble) => (give(), reject(trouble)),
      };
      signal?.addEventListener("abort", stop, { once: true });
      this.socket.ref();
      const body = Buffer.from(JSON.stringify(message), "utf8");
      const head = Buffer.alloc(4);
      head.writeUInt32BE(body.length);
      this.socket.write(Buffer.concat([head, body]));
    });
  }

  take(data) {
    this.received = Buffer.concat([this.received, data]);
    if (this.received.length < 4) return;
    const size = this.received.readUInt32BE(0);
    if (size > MOST) return this.close(new Unreachable("the answer is too long"));
    if (this.received.length < 4 + size) return;
    const body = this.received.subarray(4, 4 + size).toString("utf8");
    this.received = this.received.subarray(4 + size);
    let answer;
    try {
      answer = JSON.parse(body);
    } catch {
      return this.close(new Unreachable("the answer is not JSON"));
    }
    this.waiting?.answered(answer);
  }

  close(why) {
    if (this.closed) return;
    this.closed = why;
    this.socket.destroy();
    this.waiting?.failed(why);
  }
}

/** The daemon of one workspace. */
export class Daemon {
  constructor({ command, workspace, log = () => {} }) {
    this.command = command || "nacre";
    this.workspace = workspace;
    this.log = log;
    this.connections = new Map();
    this.starting = null;
    this.failed = null;
  }

  /** What the daemon answers. Where the one that was known has gone, the next is asked, once. What may take longer has a
   *  connection of its own, so that nobody waits behind it. */
  async ask(scope, message, { within = ANSWER_WITHIN, signal } = {}) {
    const lane = `${within} ${scope}`;
    for (let last = false; ; last = true) {
      try {
        const connection = await this.connected(lane, scope, within, signal);
        const answer = await connection.ask(message, within, signal);
        if (answer.skew !== undefined) throw new Gone(answer.skew);
        return checked(answer);
      } catch (trouble) {
        if (last || signal?.aborted || !(trouble instanceof Gone)) throw trouble;
        this.forget();
      }
    }
  }

  async connected(lane, scope, within, signal) {
    const known = this.connections.get(lane);
    if (known && !(await known).closed) return known;
    const opening = this.greeted(scope, within, signal);
    this.connections.set(lane, opening);
    opening.catch(() => this.connections.get(lane) === opening && this.connections.delete(lane));
    return opening;
  }

  async greeted(scope, within, signal) {
    const { socket, version } = await this.started(signal);
    const connection = await Connection.open(socket);
    const hello = { kind: "hello", protocol: PROTOCOL, version, plugin: "openclaw", scope };
    const answer = await connection.ask(hello, within, signal);
    if (answer.error === undefined && answer.skew === undefined) return connection;
    connection.close(new Gone(answer.skew ?? answer.error));
    throw answer.error === undefined ? new Gone(answer.skew) : new Refused(answer.error);
  }

  /** Where a daemon listens; started when none does. */
  started(signal) {
    if (this.known) return Promise.resolve(this.known);
    if (this.failed && Date.now() - this.failed.at < TRY_AGAIN) return Promise.reject(this.failed.trouble);
    this.starting ??= this.start().finally(() => (this.starting = null));
    return signal ? Promise.race([this.starting, aborted(signal)]) : this.starting;
  }

  start() {
    const place = this.workspace ? ["--workspace", this.workspace] : [];
    const options = ["serve", "--ensure", "--on-demand", "--json"];
    return new Promise((resolve, reject) => {
      const settings = { timeout: START_WITHIN, windowsHide: true };
      execFile(this.command, [...place, ...options], settings, (trouble, output, notes) => {
        try {
          if (trouble) throw trouble;
          const { socket, version } = JSON.parse(output);
          this.known = { socket, version };
          this.failed = null;
          resolve(this.known);
        } catch (cause) {
          const why = notes?.trim().split("\n").at(-1) || cause.message;
          this.failed = { at: Date.now(), trouble: new Unreachable(why) };
          this.log(`${this.command} could not start its daemon: ${why}`);
          reject(this.failed.trouble);
        }
      });
    });
  }

  forget() {
    this.known = null;
    this.close();
  }

  close() {
    for (const open of this.connections.values()) open.then((one) => one.close(new Gone("it was closed")), () => {});
    this.connections.clear();
  }
}

function checked(answer) {
  if (answer.error === undefined) return answer;
  if (answer.name === "?" || answer.name === "BadMessage") throw new Unreachable(answer.error);
  throw new Refused(answer.error);
}

function aborted(signal) {
  return new Promise((_, reject) => {
    const stop = () => reject(new Unreachable("the turn was ended"));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
