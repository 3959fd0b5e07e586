/**
 * The tables of the specification that a reader needs, as data: words, HTTP statuses, numbers of
 * JSON-RPC.
 */

import { type Category, type Code, DEFAULTS } from "./envelope.js";

export interface Meaning {
  code: Code;
  category: Category;
  retryable: boolean;
  outcome?: string;
  /** True where a reader adds advice of its own. */
  hint?: boolean;
}

export interface Tables {
  http: {
    statuses: ({ status: number } & Meaning)[];
    others: ({ status: string } & Meaning)[];
    proxy_errors: ({ error: string } & Meaning)[];
  };
  grpc: { statuses: ({ number: number; status: string } & Meaning)[] };
  words: { groups: ({ words: string[] } & Meaning)[] };
  jsonrpc: {
    with_words: ({ numbers: number[]; but_not?: number[]; pattern?: string } & Meaning)[];
    alone: ({ number: number } & Meaning)[];
    free: { number: number; word: string }[];
  };
}

export function defaultsOf(code: Code): Meaning {
  return { code, ...DEFAULTS[code] };
}

/** The meaning of a word of any vocabulary; `internal` says no more than that something failed. */
export function meaningOfWord(tables: Tables, word: string): Meaning | undefined {
  if (word.length > 128) return undefined;
  const humps = word.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
  const snake = humps.replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
  const bare = snake.replace(/^(?:err|error|e)_|_(?:err|error|exception|failure)$/g, "");
  const known = (text: string) => tables.words.groups.find((group) => group.words.includes(text));
  const ending = snake.endsWith("_not_found") ? known("not_found") : undefined;
  return known(snake) ?? known(bare) ?? ending;
}

export function meaningOfStatus(tables: Tables, status: number): Meaning {
  const row = tables.http.statuses.find((row) => row.status === status);
  const rest = tables.http.others.find((row) => row.status === `${Math.floor(status / 100)}xx`);
  return row ?? rest ?? defaultsOf("internal");
}

/** W28: the first row whose number and words fit. */
export function meaningOfNumber(
  tables: Tables,
  number: number,
  message: string,
): Meaning | undefined {
  return tables.jsonrpc.with_words.find((row) => {
    const isAbout = row.numbers.length === 0 || row.numbers.includes(number);
    const isFree = !row.but_not?.includes(number);
    return (
      isAbout &&
      isFree &&
      (row.pattern === undefined || new RegExp(row.pattern, "is").test(message))
    );
  });
}

/** W28: what a number says beside words that tell nothing, if it says anything. */
export function meaningOfLoneNumber(tables: Tables, number: number): Meaning | undefined {
  return tables.jsonrpc.alone.find((row) => row.number === number);
}

/** W28: what the number of an error says where the words tell nothing. */
export function meaningOfBareNumber(tables: Tables, number: number): Meaning {
  const alone = meaningOfLoneNumber(tables, number);
  if (alone !== undefined) return alone;
  if (number >= 400 && number <= 599) return meaningOfStatus(tables, number);
  return defaultsOf(number >= -32700 && number <= -32600 ? "internal" : "unknown");
}

/** What a free number of JSON-RPC means in an error object that says nothing else (W27). */
export function meaningOfFreeNumber(
  tables: Tables,
  number: number | undefined,
): Meaning | undefined {
  const word = tables.jsonrpc.free.find((row) => row.number === number)?.word;
  return word === undefined ? undefined : meaningOfWord(tables, word);
}
