import { isPhone } from './address.ts'
import { foldEmail } from './email.ts'
import { toE164 } from './phone.ts'
import type { Address } from './recipient.ts'

/**
 * An address as it is sent to: numbers in E.164, those without a country as `region` has them, and emails folded. What can
 * be neither stays as it is, for `addressProblems` to name.
 */
export function asSentTo(to: Address, region: string | null): Address {
  const { phone, email } = to
  return {
    ...to,
    ...(phone !== undefined && { phone: isPhone(phone) ? phone : (toE164(phone, region) ?? phone) }),
    ...(email !== undefined && { email: foldEmail(email) ?? email }),
  }
}
