import { type Rule, ruleOfStatus } from '../vendor-answers.ts'

const HOUR_MS = 3_600_000

/** MSG91's error codes. They come in `code` or at the head of `message`; the status is of no use. */
export const MSG91_ERRORS: Readonly<Record<string, Rule & { words: string }>> = {
  101: { does: 'fail', reason: 'permanent_refusal', words: 'The mobile number is missing.' },
  102: { does: 'fail', reason: 'content_rejected', words: 'The message is missing.' },
  103: { does: 'fail', reason: 'permanent_refusal', words: 'The sender id is missing.' },
  104: { does: 'fail', reason: 'permanent_refusal', words: 'The user name is missing.' },
  105: { does: 'fail', reason: 'permanent_refusal', words: 'The password is missing.' },
  106: { does: 'fail', reason: 'template_rejected', words: 'The template is missing.' },
  107: { does: 'fail', reason: 'permanent_refusal', words: 'A required field is missing.' },
  202: { does: 'dead', words: 'The mobile number is not valid.' },
  203: { does: 'fail', reason: 'permanent_refusal', words: 'The sender id is not valid.' },
  207: { does: 'halt', words: 'The authentication key is not valid.' },
  208: { does: 'halt', words: 'The address this call comes from is blacklisted.' },
  301: { does: 'halt', words: 'There is not enough balance.' },
  302: { does: 'halt', words: 'The account has expired.' },
  303: { does: 'halt', words: 'The account is banned.' },
  306: { does: 'defer', afterMs: HOUR_MS, words: 'The route is closed at this hour.' },
  307: { does: 'fail', reason: 'permanent_refusal', words: 'The schedule time is not valid.' },
  310: { does: 'fail', reason: 'content_rejected', words: 'The message is too long.' },
  // The first of the two was taken, and its answer never reached us.
  311: { does: 'unknown', words: 'The same request came within the last ten seconds.' },
  418: { does: 'halt', words: 'The address this call comes from is not on the whitelist.' },
}

export function msg91Rule(code: string, status: number): Rule {
  return MSG91_ERRORS[code] ?? ruleOfStatus(status)
}
