import type { Contact } from '../../model/contact.ts'
import { nounOf } from './noun.ts'

export const CONTACTS = nounOf<Contact>('contacts', {
  id: 'uuid',
  tenantId: 'text',
  profileId: 'text',
  userId: 'text',
  name: 'text',
  phone: 'text',
  email: 'text',
  locale: 'text',
  version: 'number',
  createdAt: 'instant',
  updatedAt: 'instant',
})
