/** What an upstream's HTTP or gRPC status means for the call (classify.md, C40 to C42). */

import { headerWait, proseWait } from "./headers.js";
import { type Json, objectInText } from "./json.js";
import { LIMIT, WINDOW, isUsedUp, namesQuota } from "./limits.js";
import { type Meaning, type Tables, defaultsOf, meaningOfStatus } from "./tables.js";
import { longest, waitInJson } from "./waits.js";

export interface Judged extends Meaning {
  retry_after_seconds: number | null;
}

const USED_UP: Meaning = { code: "quota_exceeded", category: "permanent", retryable: false };
const CONTENDED: Meaning = { code: "internal", category: "transient", retryable: true };

// ---- HTTP (C40)

const MAY_WAIT = [403, 408, 409, 413, 425, 429, 500, 502, 503, 504, 529];
const INTERMEDIARY = [403, 502, 503, 504];

export interface HttpAnswer {
  status: number;
  headers: readonly [string, string][];
  body: string;
}

export function judgeHttp(tables: Tables, answer: HttpAnswer, now: number): Judged {
  const { status } = answer;
  const headers = new Map(answer.headers.map(([name, value]) => [name.toLowerCase(), value]));
  const body = answer.body.slice(0, 4096);
  const asked = headerWait(answer.headers, now, status === 429);
  const wait = asked ?? (MAY_WAIT.includes(status) ? bodyWait(body, now) : null);
  const row = rowOf(tables, status, headers, wait, body.toLowerCase());
  return withWait(row, wait, !says(headers, "false"));
}

function bodyWait(body: string, now: number): number | null {
  return longest([proseWait(body, now), waitInJson(objectInText(body) as Json, now)]);
}

function says(headers: ReadonlyMap<string, string>, flag: string): boolean {
  const names = ["x-should-retry", "stripe-should-retry"];
  return names.some((name) => headers.get(name)?.toLowerCase() === flag);
}

function rowOf(
  tables: Tables,
  status: number,
  headers: ReadonlyMap<string, string>,
  wait: number | null,
  body: string,
): Meaning {
  const named = /[;,]\s*error\s*=\s*([a-z_]+)/.exec(`;${headers.get("proxy-status") ?? ""}`)?.[1];
  const proxy = tables.http.proxy_errors.find((row) => row.error === named);
  if (proxy !== undefined && INTERMEDIARY.includes(status)) return proxy;
  if (status === 409 && (wait !== null || says(headers, "true"))) return CONTENDED;
  if (status === 403 && wait === null && namesQuota(body)) return USED_UP;
  if (!isLimit(status, headers, wait, body)) return meaningOfStatus(tables, status);
  return isUsedUp(body, wait) ? USED_UP : defaultsOf("quota_exceeded");
}

function isLimit(
  status: number,
  headers: ReadonlyMap<string, string>,
  wait: number | null,
  body: string,
): boolean {
  if (status === 403) return wait !== null || hasNothingLeft(headers) || LIMIT.test(body);
  return status === 429 || (status === 413 && wait !== null);
}

function hasNothingLeft(headers: ReadonlyMap<string, string>): boolean {
  const counts = [...headers].filter(
    ([name]) => name.includes("limit") && name.includes("remaining"),
  );
  return counts.some(([, value]) => /^\s*0+(?:\.0+)?\s*$/.test(value));
}

function withWait(row: Meaning, wait: number | null, again: boolean): Judged {
  const { code, category } = row;
  const retryable = row.retryable && again;
  return { code, category, retryable, retry_after_seconds: retryable ? wait : null };
}

// ---- gRPC (C41)

const TOO_LARGE = /(?:received|sent|trying to send) message larger than max/i;

export interface GrpcAnswer {
  /** Its name or its number. */
  status: string | number;
  text: string;
  wait: number | null;
  /** What a QuotaFailure names. */
  quota: string;
  again: boolean;
}

export function judgeGrpc(tables: Tables, answer: GrpcAnswer): Judged {
  const { status, wait } = answer;
  const row = tables.grpc.statuses.find((row) => row.status === status || row.number === status);
  const meant = row?.status === "RESOURCE_EXHAUSTED" ? rowOfLimit(answer) : row;
  return withWait(meant ?? defaultsOf("internal"), wait, answer.again);
}

function rowOfLimit({ text, wait, quota }: GrpcAnswer): Meaning {
  if (TOO_LARGE.test(text)) return defaultsOf("invalid_arguments");
  const isLong = quota !== "" && wait === null && !WINDOW.test(quota.toLowerCase());
  return isLong || isUsedUp(text.toLowerCase(), wait) ? USED_UP : defaultsOf("quota_exceeded");
}
