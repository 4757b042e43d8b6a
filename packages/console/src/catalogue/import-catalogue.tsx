import './catalogue.css'
import { Alert, Button, FileButton, Group, Stack, Text, Textarea, Title } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { CatalogueImport, Problem } from '@pillarbox/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { ApiError, call, get } from '../app/api.ts'
import { useCatalogue } from '../app/event-types.ts'
import { type Scope, useCanConfigure, useScope } from '../app/session.ts'
import { Blank, Loading } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'
import { Refusal } from '../parts/refusal.tsx'

/** The catalogue as a file: what it would change is said before it does. */
export function ImportCatalogue() {
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const { data } = useCatalogue(scope)
  const version = data?.version
  const current = useQuery({
    queryKey: ['catalogue document', scope.tenantId, version],
    queryFn: () => get<{ document: string }>(`/api/event-types/versions/${version}`, scope.query),
    enabled: canConfigure && version !== undefined && version > 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!canConfigure) return <Blank title="Importing a catalogue needs an admin’s key" />
  if (version === undefined || (version > 0 && !current.data)) return <Loading />
  return <Importing key={version} document={current.data?.document ?? ''} scope={scope} />
}

function Importing({ document, scope }: { document: string; scope: Scope }) {
  const [text, setText] = useState(document)
  /** The text that was looked at: only that can be imported. */
  const [checked, setChecked] = useState<string | null>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const put = (dryRun: boolean): Promise<CatalogueImport> =>
    call<CatalogueImport>('PUT', '/api/event-types', { ...scope.query, dryRun }, text)
  const check = useMutation({ mutationFn: () => put(true), onSuccess: () => setChecked(text) })
  const take = useMutation({
    mutationFn: () => put(false),
    onSuccess: async ({ version }) => {
      toasts.show({ color: 'green', title: 'Imported', message: `Version ${version} is in force.` })
      await queries.invalidateQueries({ queryKey: ['live'] })
      await navigate({ to: '/catalogue' })
    },
  })
  const error = take.error ?? check.error
  const problems = error instanceof ApiError ? error.errors : []
  const isChecked = checked === text && check.data !== undefined

  function goTo(line: number, column: number): void {
    const before = text.split('\n').slice(0, line - 1)
    const place = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1
    field.current?.focus()
    field.current?.setSelectionRange(place, place + 1)
  }

  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/catalogue">Catalogue</Link>
      </Text>
      <Group justify="space-between">
        <Title order={1}>Edit or import the catalogue</Title>
        <Group gap="xs">
          <FileButton accept=".yaml,.yml,.json" onChange={(file) => void file?.text().then(setText)}>
            {(props) => (
              <Button size="xs" variant="default" {...props}>
                Open a file…
              </Button>
            )}
          </FileButton>
          <Button
            size="xs"
            variant={isChecked ? 'default' : 'filled'}
            loading={check.isPending}
            onClick={() => check.mutate()}
          >
            What would change?
          </Button>
          <Button
            size="xs"
            disabled={!isChecked}
            title={isChecked ? undefined : 'Look at what would change first'}
            loading={take.isPending}
            onClick={() => take.mutate()}
          >
            Import
          </Button>
        </Group>
      </Group>
      {error && problems.length === 0 && <Refusal error={error} title="It cannot be used" />}
      {problems.length > 0 && <Problems problems={problems} goTo={goTo} />}
      <div className="two">
        <Panel title="The file">
          <div className="inside">
            <Textarea
              ref={field}
              aria-label="The catalogue, as YAML or JSON"
              value={text}
              onChange={({ currentTarget }) => setText(currentTarget.value)}
              autosize
              minRows={16}
              maxRows={36}
              spellCheck={false}
              classNames={{ input: 'mono' }}
            />
          </div>
        </Panel>
        <Panel title="What would change">
          <div className="inside" role="status">
            {isChecked && check.data ? (
              <Changes answer={check.data} />
            ) : (
              <Text c="dimmed">Nothing is changed by asking. Templates that somebody edited are kept, and named.</Text>
            )}
          </div>
        </Panel>
      </div>
    </Stack>
  )
}

function Problems({ problems, goTo }: { problems: readonly Problem[]; goTo: (line: number, column: number) => void }) {
  return (
    <Alert color="red" variant="outline" role="alert" title={`It cannot be used: ${problems.length} problems`}>
      {problems.map(({ path, message }) => {
        const [place, line, column] = / *\[line (\d+), column (\d+)\]/.exec(message) ?? []
        return (
          <div key={`${path} ${message}`} style={{ marginTop: 4 }}>
            {place !== undefined && (
              <Button size="compact-xs" variant="default" mr={6} onClick={() => goTo(Number(line), Number(column))}>
                line {line}, column {column}
              </Button>
            )}
            <span className="mono">{path}</span> {message.replace(place ?? '', '')}
          </div>
        )
      })}
    </Alert>
  )
}

function Changes({ answer: { changes, warnings } }: { answer: CatalogueImport }) {
  return (
    <>
      {changes.length === 0 ? (
        <Text>Nothing: this is what is in force.</Text>
      ) : (
        <ul style={{ margin: 0, paddingLeft: 18 }}>
          {changes.map(({ text }) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {warnings.map(({ key, message }) => (
        <Text key={`${key} ${message}`} mt="xs" size="sm" style={{ color: 'var(--pbx-warn)' }}>
          ▲ {key !== undefined && <span className="mono">{key} </span>}
          {message}
        </Text>
      ))}
    </>
  )
}
