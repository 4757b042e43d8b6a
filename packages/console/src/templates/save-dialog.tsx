import { Text } from '@mantine/core'
import type { Template } from '@pillarbox/client'
import { useQueryClient } from '@tanstack/react-query'
import { ApiError, call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { DiffView } from '../parts/diff-view.tsx'
import { type Draft, draftOf, textOf, wordsOf } from './words.ts'

interface SaveDialogProps {
  template: Template
  draft: Draft
  scope: Scope
  saved: (template: Template) => void
  close: () => void
  title?: string
}

/** Shows what would change before it does. The version it began from goes along, so that nobody's change is lost. */
export function SaveDialog({ template, draft, scope, saved, close, title = 'Save these words' }: SaveDialogProps) {
  const queries = useQueryClient()
  async function save(): Promise<Template> {
    const read = wordsOf(draft)
    if ('problem' in read) throw new ApiError(0, { detail: read.problem })
    try {
      const after = await call<Template>('PATCH', `/api/message-templates/${template.id}`, scope.query, {
        ...read.words,
        version: template.version,
      })
      queries.setQueryData(['live', 'template', after.id, scope.tenantId], after)
      saved(after)
      return after
    } catch (error) {
      // Somebody was faster: the page has to know before it says so.
      if (error instanceof ApiError && error.code === 'changed_meanwhile')
        await queries.invalidateQueries({ queryKey: ['live', 'template'] })
      throw error
    }
  }
  return (
    <AskDialog
      title={title}
      word={`Save version ${template.version + 1}`}
      perform={save}
      done={({ version, warnings }) =>
        warnings.length > 0
          ? `Version ${version}, with ${warnings.length} warnings.`
          : `Version ${version} is in force.`
      }
      close={close}
    >
      <Text mb="sm">
        From now on this is what is sent. What is scheduled or parked is told in these words; what was made already
        keeps its own.
      </Text>
      <DiffView label={`From version ${template.version}`} before={textOf(draftOf(template))} after={textOf(draft)} />
    </AskDialog>
  )
}
