import { type Rule, ruleOfStatus } from '../vendor-answers.ts'

const HOUR_MS = 3_600_000

/** What WNS's answers mean: its status, or for a 200 the word in X-WNS-Status. Only `received` is sent. */
export const WNS_ANSWERS: Readonly<Record<string, Rule & { words: string }>> = {
  dropped: { does: 'fallback', words: 'The device is not reachable, or its user wants no notifications.' },
  channelthrottled: { does: 'throttle', scope: 'recipient', words: 'Too many notifications to this channel.' },
  400: { does: 'fail', reason: 'content_rejected', words: 'A header or the content is not valid.' },
  401: { does: 'halt', words: 'The token is not valid.' },
  403: { does: 'halt', words: 'The app may not send to this channel.' },
  404: { does: 'dead', words: 'The channel does not exist.' },
  405: { does: 'fail', reason: 'permanent_refusal', words: 'The method is not allowed.' },
  406: { does: 'throttle', words: 'The app sends too fast.' },
  410: { does: 'dead', words: 'The channel has expired.' },
  413: { does: 'fail', reason: 'content_rejected', words: 'The notification is larger than 5,000 bytes.' },
  429: { does: 'defer', afterMs: 6 * HOUR_MS, words: 'The quota of the month is used up.' },
  500: { does: 'retry', words: 'An internal error.' },
  503: { does: 'retry', words: 'The service is not available.' },
}

export function wnsRule(code: string, status: number): Rule {
  return WNS_ANSWERS[code] ?? ruleOfStatus(status)
}
