import type { Contact } from '../../model/contact.ts'
import { textOrNull } from './fields.ts'
import { instantOf, type Row } from './script.ts'

const NAMES = 'id tenant_id profile_id user_id name phone email locale version created_at updated_at'.split(' ')

/** The columns `contactOf` reads, of a contact `c`. */
export const CONTACT_COLUMNS = NAMES.map((name) => `c.${name}`).join(', ')

/** The same behind `returning`, where SQLite knows no alias. */
export const CONTACT_RETURNING = NAMES.join(', ')

export function contactOf(found: Row): Contact {
  return {
    id: String(found['id']),
    tenantId: String(found['tenant_id']),
    profileId: textOrNull(found['profile_id']),
    userId: textOrNull(found['user_id']),
    name: textOrNull(found['name']),
    phone: textOrNull(found['phone']),
    email: textOrNull(found['email']),
    locale: textOrNull(found['locale']),
    version: Number(found['version']),
    createdAt: instantOf(found['created_at']),
    updatedAt: instantOf(found['updated_at']),
  }
}
