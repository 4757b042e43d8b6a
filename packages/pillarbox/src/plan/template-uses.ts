import type { NewNotification } from '../model/notification.ts'
import type { Logger } from '../model/ports.ts'
import type { TemplateStore } from '../tenant/template-store.ts'

/**
 * Remembers in the store which templates notifications were made from, so that those are deactivated rather than
 * removed. The store is told of each template once per process, before the notifications themselves are written.
 */
export interface TemplateUses {
  /** Never rejects: what the store could not be told, it is told next time. */
  note(notifications: readonly NewNotification[]): Promise<void>
}

export function createTemplateUses(templates: Pick<TemplateStore, 'markUsed'>, logger: Logger): TemplateUses {
  const noted = new Set<string>()
  const waiting = new Set<string>()
  return {
    async note(notifications) {
      for (const { templateId } of notifications)
        if (templateId !== null && !noted.has(templateId)) waiting.add(templateId)
      if (waiting.size === 0) return
      const ids = [...waiting]
      try {
        await templates.markUsed(ids)
        for (const id of ids) {
          noted.add(id)
          waiting.delete(id)
        }
      } catch (error) {
        logger.warn({ templates: ids, error: String(error) }, 'could not note that templates are in use; trying again')
      }
    },
  }
}
