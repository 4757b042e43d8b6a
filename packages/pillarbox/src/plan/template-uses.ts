import type { NewNotification } from '../model/notification.ts'
import type { Logger } from '../model/ports.ts'
import type { TemplateStore } from '../tenant/template-store.ts'

/**
 * Remembers in the store which templates notifications were made from, so that those are deactivated rather than
 * removed. Each is told once per process, after the notifications themselves.
 */
export interface TemplateUses {
  saw(notifications: readonly NewNotification[]): void
  /** Never rejects: what could not be told is told next time. */
  flush(): Promise<void> | void
}

export function createTemplateUses(templates: Pick<TemplateStore, 'markUsed'>, logger: Logger): TemplateUses {
  const told = new Set<string>()
  let waiting = new Set<string>()

  async function tell(ids: readonly string[]): Promise<void> {
    try {
      await templates.markUsed(ids)
      for (const id of ids) told.add(id)
    } catch (error) {
      for (const id of ids) waiting.add(id)
      logger.warn({ templates: ids, error: String(error) }, 'could not note that templates are in use; trying again')
    }
  }

  return {
    saw(notifications) {
      for (const { templateId } of notifications)
        if (templateId !== null && !told.has(templateId)) waiting.add(templateId)
    },
    flush() {
      if (waiting.size === 0) return undefined
      const ids = [...waiting]
      waiting = new Set()
      return tell(ids)
    },
  }
}
