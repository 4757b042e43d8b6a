import { createHmac } from 'node:crypto'
import { jsonCallback, type VendorCallback } from './callback.ts'

/** What Interakt reports of one message. */
export interface InteraktStatus {
  /** The id that the send call was answered with. */
  id: string
  type:
    | 'message_api_sent'
    | 'message_api_delivered'
    | 'message_api_read'
    | 'message_api_clicked'
    | 'message_api_failed'
    | 'message_received'
  /** When it happened, in ms. */
  at: number
  /** What was sent as `callbackData`. */
  callbackData?: string
  /** Digits with the country code. */
  phone?: string
  /** Meta's error code, for a failure. */
  errorCode?: number
  reason?: string
}

export interface InteraktCallbackOptions {
  /** The secret key of the webhook. Without it the callback is not signed. */
  secret?: string
  /** The header it is signed in. Default: `interakt-signature`. */
  header?: 'interakt-signature' | 'x-interakt-signature'
}

/** Interakt's `POST` about one message, signed where a secret is given. */
export function interaktCallback(
  status: InteraktStatus,
  { secret, header = 'interakt-signature' }: InteraktCallbackOptions = {},
): VendorCallback & { body: string } {
  const callback = jsonCallback(bodyOf(status))
  if (secret === undefined) return callback
  const signature = createHmac('sha256', secret).update(callback.body).digest('hex')
  return { ...callback, headers: { ...callback.headers, [header]: `sha256=${signature}` } }
}

/** Interakt's times are UTC and do not say so. */
function utc(at: number): string {
  return new Date(at).toISOString().replace('Z', '000')
}

function bodyOf({ id, type, at, callbackData, phone = '919876543210', errorCode, reason }: InteraktStatus): unknown {
  const name = type.slice(type.lastIndexOf('_') + 1)
  return {
    version: '1.0',
    timestamp: utc(at),
    type,
    data: {
      customer: {
        id: '00000000-0000-4000-8000-00000000c0de',
        channel_phone_number: phone,
        phone_number: phone.slice(-10),
        country_code: `+${phone.slice(0, -10)}`,
        traits: { name: 'Guest' },
      },
      message: {
        id,
        chat_message_type: 'PublicApiMessage',
        channel_failure_reason: reason ?? null,
        channel_error_code: errorCode === undefined ? null : String(errorCode),
        message_status: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        received_at_utc: utc(at),
        delivered_at_utc: name === 'delivered' || name === 'read' ? utc(at) : null,
        seen_at_utc: name === 'read' ? utc(at) : null,
        is_template_message: true,
        message_content_type: 'Template',
        meta_data: { source: 'PublicAPI', source_data: { callback_data: callbackData ?? '' } },
      },
    },
  }
}
