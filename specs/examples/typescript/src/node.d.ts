/**
 * The few functions of Node that the programs use, so that TypeScript is the only thing to
 * install.
 */

declare module "node:fs" {
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
  export function readdirSync(path: string | URL): string[];
}

declare module "node:readline" {
  interface Lines extends AsyncIterable<string> {
    close(): void;
  }
  export function createInterface(options: { input: unknown }): Lines;
}

declare module "node:child_process" {
  interface Child {
    stdin: { write(text: string): void; end(): void };
    stdout: unknown;
    kill(): void;
  }
  export function spawn(command: string, args: string[], options: { stdio: string[] }): Child;
}

declare module "node:process" {
  export const argv: string[];
  export const stdin: unknown;
  export const stdout: { write(text: string): void };
  export function exit(code: number): never;
}

declare const console: { log(...values: unknown[]): void };
declare function setTimeout(call: () => void, milliseconds: number): void;
declare class URL {
  constructor(path: string, base: string | URL);
}
interface ImportMeta {
  url: string;
}
