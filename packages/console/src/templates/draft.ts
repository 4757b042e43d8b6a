import type { Template } from '@pillarbox/client'
import { useState } from 'react'
import { type Draft, draftOf, isSameDraft } from './words.ts'

/** The version that somebody began to change. */
interface Base {
  version: number
  draft: Draft
}

/** What is typed, and what it began from. A tab that is loaded anew still has it. */
export function useDraft(template: Template) {
  const keptAs = `pillarbox.draft.${template.id}`
  const [kept, keep] = useState<{ base: Base; draft: Draft }>(() => storedDraft(keptAs) ?? fresh(template))
  const isDirty = !isSameDraft(kept.draft, kept.base.draft)
  // Nothing was typed: what somebody else saved is what is there.
  const { base, draft } = isDirty || kept.base.version === template.version ? kept : fresh(template)

  function change(next: { base: Base; draft: Draft }): void {
    keep(next)
    if (isSameDraft(next.draft, next.base.draft)) sessionStorage.removeItem(keptAs)
    else sessionStorage.setItem(keptAs, JSON.stringify(next))
  }

  return {
    draft,
    base,
    isDirty,
    setDraft: (typed: Draft): void => change({ base, draft: typed }),
    /** From here on changes are changes of this version. */
    startFrom: (version: Template, typed?: Draft): void =>
      change({ ...fresh(version), ...(typed && { draft: typed }) }),
  }
}

function fresh(template: Template): { base: Base; draft: Draft } {
  const draft = draftOf(template)
  return { base: { version: template.version, draft }, draft }
}

function storedDraft(keptAs: string): { base: Base; draft: Draft } | null {
  const text = sessionStorage.getItem(keptAs)
  return text === null ? null : (JSON.parse(text) as { base: Base; draft: Draft })
}
