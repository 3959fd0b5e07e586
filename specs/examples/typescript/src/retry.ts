/**
 * Whether a failed call is repeated, and after how long (retry.md, R1 to R16). Times are in
 * seconds.
 */

import type { Code } from "./envelope.js";
import { flagOf } from "./envelope.js";
import { type JsonObject, asObject } from "./json.js";

export interface Rules {
  attempts: number;
  /** One deadline over all attempts; infinite for none. */
  timeout: number;
  /** The longest wait that is accepted from a server. */
  hintMax: number;
  /** The random share of the window. */
  jitter: number;
  /** Whether hints and outcomes of the server count (R4). */
  trustHints: boolean;
}

export const DEFAULT_RULES: Rules = {
  attempts: 3,
  timeout: 120,
  hintMax: 120,
  jitter: 1,
  trustHints: true,
};

export interface Failure {
  code: Code;
  retryable: boolean;
  retry_after_seconds?: number | null;
  /** What the server says of the call. */
  outcome?: string | null;
  /** What the client knows by itself: the request never left it. */
  never_sent?: boolean;
}

export type Reason =
  "success" | "not_retryable" | "attempts" | "not_safe" | "hint" | "deadline" | "budget";

export type Decision = { again: true; wait: number } | { again: false; reason: Reason };

/** R12: the tokens that all calls to one server share. */
export class Budget {
  constructor(
    public tokens = 10,
    private readonly full = 10,
  ) {}

  take(cost: number): boolean {
    if (this.tokens < cost) return false;
    this.tokens -= cost;
    return true;
  }

  give(tokens: number): void {
    this.tokens = Math.min(this.full, this.tokens + tokens);
  }
}

/** R2: the caller's word, then what the client knows, then what the server says. */
export function isSafe(
  failure: Failure,
  rules: Rules,
  idempotent?: boolean,
  tool: JsonObject = {},
): boolean {
  if (idempotent !== undefined) return idempotent;
  if (failure.never_sent === true) return true;
  if (!rules.trustHints) return false;
  const hints = asObject(tool["annotations"] ?? tool);
  const isHinted =
    flagOf(hints["readOnlyHint"]) === true || flagOf(hints["idempotentHint"]) === true;
  return isHinted || failure.outcome === "not_executed";
}

export interface Situation {
  failure: Failure | undefined;
  safe: boolean;
  /** How many attempts were made. */
  number: number;
  elapsed: number;
  /** From 0 to 1. */
  random: number;
  /** What the last retry of this call took from the budget; 0 if there was none. */
  lastCost: number;
}

/** The decision of R12, and what it takes from the budget or gives to it. */
export function decide(
  situation: Situation,
  budget: Budget,
  rules: Rules = DEFAULT_RULES,
): Decision {
  const { failure, number, elapsed } = situation;
  if (failure === undefined) {
    budget.give(situation.lastCost || 0.1);
    return stop("success");
  }
  if (!failure.retryable) return stop("not_retryable");
  if (number >= rules.attempts) return stop("attempts");
  if (!situation.safe) return stop("not_safe");
  const asked = failure.retry_after_seconds ?? 0;
  if (asked > rules.hintMax) return stop("hint");
  const wait = waitBefore(failure.code, number, asked, situation.random, rules.jitter);
  if (elapsed + wait > rules.timeout) return stop("deadline");
  return budget.take(costOf(failure.code)) ? { again: true, wait } : stop("budget");
}

function stop(reason: Reason): Decision {
  return { again: false, reason };
}

export function costOf(code: Code): number {
  return code === "quota_exceeded" ? 5 / 14 : 1;
}

function waitBefore(
  code: Code,
  number: number,
  asked: number,
  random: number,
  jitter: number,
): number {
  const first = code === "quota_exceeded" ? 1 : 0.5;
  const window = Math.min(20, first * 2 ** (number - 1));
  return Math.max(asked, window * (1 - jitter)) + window * jitter * random;
}

export interface Host<T> {
  attempt(number: number): Promise<T>;
  failureOf(answer: T): Failure | undefined;
  sleep(seconds: number): Promise<void>;
  clock(): number;
  random(): number;
}

export interface Attempt {
  wait: number | null;
  reason: Reason | null;
}

/** R15, R16: all attempts of one call, and the last answer as it came. */
export async function callWithRetries<T>(
  host: Host<T>,
  budget: Budget,
  rules: Rules = DEFAULT_RULES,
  safety: { idempotent?: boolean; tool?: JsonObject } = {},
): Promise<{ answer: T; attempts: Attempt[] }> {
  const begun = host.clock();
  const attempts: Attempt[] = [];
  for (let lastCost = 0; ;) {
    const answer = await host.attempt(attempts.length + 1);
    const failure = host.failureOf(answer);
    const safe = failure !== undefined && isSafe(failure, rules, safety.idempotent, safety.tool);
    const elapsed = host.clock() - begun;
    const situation = {
      failure,
      safe,
      number: attempts.length + 1,
      elapsed,
      random: host.random(),
      lastCost,
    };
    const decision = decide(situation, budget, rules);
    if (!decision.again) {
      attempts.push({ wait: null, reason: decision.reason });
      return { answer, attempts };
    }
    attempts.push({ wait: decision.wait, reason: null });
    lastCost = failure === undefined ? 0 : costOf(failure.code);
    await host.sleep(decision.wait);
  }
}
