import { dead, defer, type ErrorTable, fail, halt, retry, throttle, unreachable } from '../error-lines.ts'

const HOUR_MS = 3_600_000

/** What WNS's answers mean: its status, or for a 200 the word in X-WNS-Status. Only `received` is sent. */
export const WNS_ANSWERS: ErrorTable = {
  dropped: unreachable('The device is not reachable, or its user wants no notifications.'),
  channelthrottled: throttle('Too many notifications to this channel.', { scope: 'recipient' }),
  400: fail('A header or the content is not valid.', 'content_rejected'),
  401: halt('The token is not valid.'),
  403: halt('The app may not send to this channel.'),
  404: dead('The channel does not exist.'),
  405: fail('The method is not allowed.'),
  406: throttle('The app sends too fast.'),
  410: dead('The channel has expired.'),
  413: fail('The notification is larger than 5,000 bytes.', 'content_rejected'),
  429: defer('The quota of the month is used up.', 6 * HOUR_MS),
  500: retry('An internal error.'),
  503: retry('The service is not available.'),
}
