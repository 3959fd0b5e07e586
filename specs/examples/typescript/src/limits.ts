/** The words of limits (classify.md, C42), on small letters. */

const FINAL =
  /insufficient[_ -]?(?:quota|balance|credits?|funds)|credit balance is too low|out of credits|\bpayment required\b|storage ?quota|disk quota/;
const MONEY = /\bbilling\b|\bpayment\b|exceeded your current quota|\byour plan\b|\bcredits?\b/;
const LONG = /\b(?:daily|monthly)|\bper[_ -]?(?:day|month)\b/;
export const WINDOW =
  /\bper[_ -]?(?:\d{1,4}[_ -]?)?(?:second|minute|hour)|(?:second|minute|hour)ly\b|\/ ?(?:s|sec|second|m|min|minute|h|hr|hour)\b|\b[rt]p[sm]\b/;
export const LIMIT =
  /\brate[_ -]?limit|\bsecondary rate|too[_ ]?many[_ ]?requests|throttl|resource_?exhausted|(?:quota|limit)[_ -]?(?:is |was |has been )?(?:exceeded|reached|exhausted)|exceeded (?:the |your |its )?(?:\w{1,30} ){0,4}(?:quota|limit)/;
const QUOTA = /\bquota[_ ]?exceeded|exceeded (?:the |your |its )(?:\w{1,30} ){0,4}quota/;

export function isUsedUp(text: string, wait: number | null): boolean {
  if (FINAL.test(text)) return true;
  const isOpen = wait === null && !WINDOW.test(text);
  return isOpen && (MONEY.test(text) || LONG.test(text));
}

export function namesQuota(text: string): boolean {
  return !text.includes("rate") && !WINDOW.test(text) && QUOTA.test(text);
}
