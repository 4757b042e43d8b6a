export interface InboxMessage {
  /** The notification's id. */
  id: string
  tenantId: string
  userId: string
  /** Its words, sealed for (tenant, `inbox_messages`, id). */
  sealed: string
  /** The inbox's revision when it came, and when it was last changed; being seen is no change. */
  arrival: number
  revision: number
  createdAt: number
  seenAt: number | null
  readAt: number | null
}

/** `sealed` is null once it was removed. */
export interface InboxChange extends Omit<InboxMessage, 'sealed'> {
  sealed: string | null
}
