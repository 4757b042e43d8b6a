import { dead, defer, type ErrorTable, fail, halt, unknown } from '../error-lines.ts'

const HOUR_MS = 3_600_000

/** MSG91's error codes. They come in `code` or at the head of `message`; the status is of no use. */
export const MSG91_ERRORS: ErrorTable = {
  101: fail('The mobile number is missing.'),
  102: fail('The message is missing.', 'content_rejected'),
  103: fail('The sender id is missing.'),
  104: fail('The user name is missing.'),
  105: fail('The password is missing.'),
  106: fail('The template is missing.', 'template_rejected'),
  107: fail('A required field is missing.'),
  202: dead('The mobile number is not valid.'),
  203: fail('The sender id is not valid.'),
  207: halt('The authentication key is not valid.'),
  208: halt('The address this call comes from is blacklisted.'),
  301: halt('There is not enough balance.'),
  302: halt('The account has expired.'),
  303: halt('The account is banned.'),
  306: defer('The route is closed at this hour.', HOUR_MS),
  307: fail('The schedule time is not valid.'),
  310: fail('The message is too long.', 'content_rejected'),
  // The first of the two was taken, and its answer never reached us.
  311: unknown('The same request came within the last ten seconds.'),
  418: halt('The address this call comes from is not on the whitelist.'),
}
