import type { Conversation, ConversationStatus } from '../model/conversation.ts'
import { found } from '../model/errors.ts'
import type { Store } from '../store/store.ts'
import type { Operator } from './operator.ts'

/** Throws `already_exists` where a closed one is to be opened again and another was opened since. */
export async function setConversationStatus(
  { people }: Pick<Store, 'people'>,
  { tenantId, actor }: Operator,
  id: string,
  status: ConversationStatus,
): Promise<Conversation> {
  return found(await people.setConversationStatus(tenantId, id, status, actor))
}
