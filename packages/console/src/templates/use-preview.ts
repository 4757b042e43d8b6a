import { useDebouncedValue } from '@mantine/hooks'
import type { Channel, TemplatePreview } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { ApiError, call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { type Draft, readObject, wordsOf } from './words.ts'

/** Whoever types is not answered before they rest. */
const REST_MS = 250

export interface PreviewRequest {
  draft: Draft
  /** JSON. */
  sample: string
  channel: Channel
  locale: string
  eventType: string
}

/** The words as they would be sent, by the code that sends them. The last good one stays while they cannot be read. */
export function usePreview(scope: Scope, asked: PreviewRequest) {
  const [settled] = useDebouncedValue(asked, REST_MS)
  const words = wordsOf(settled.draft)
  const context = readObject(settled.sample)
  const problem = 'problem' in words ? words.problem : context === 'bad' ? 'The sample is not a JSON object.' : null
  const { channel, locale, eventType } = settled
  const body = problem === null &&
    'words' in words && { ...words.words, channel, locale, eventType, context: context ?? {} }
  const { data, error, isFetching } = useQuery({
    queryKey: ['preview', scope.tenantId, JSON.stringify(body)],
    queryFn: () => call<TemplatePreview>('POST', '/api/message-templates/preview', scope.query, body || {}),
    enabled: body !== false && settled.draft.body !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  })
  const lastGood = useRef<TemplatePreview | null>(null)
  if (data) lastGood.current = data
  const refused = error instanceof ApiError ? error : null
  return {
    preview: data ?? lastGood.current,
    isOld: error !== null || problem !== null || isFetching,
    problem: problem ?? (error && refused?.errors.length === 0 ? error.message : null),
    errors: refused?.errors ?? [],
  }
}
