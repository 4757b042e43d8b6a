import type { Entity } from './event.ts'

export const CONVERSATION_STATUSES = ['open', 'snoozed', 'closed'] as const

export type ConversationStatus = (typeof CONVERSATION_STATUSES)[number]

export interface Conversation {
  id: string
  tenantId: string
  contactId: string
  context: Entity
  status: ConversationStatus
  createdAt: number
  updatedAt: number
}
