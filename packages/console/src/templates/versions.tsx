import { Button, Group, Text } from '@mantine/core'
import type { Template, TemplateVersion } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { get, type PageOf } from '../app/api.ts'
import { type Scope, useCanConfigure } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { DiffView } from '../parts/diff-view.tsx'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { When } from '../parts/when.tsx'
import { SaveDialog } from './save-dialog.tsx'
import { draftOf, textOf } from './words.ts'

/** What a template said before, what changed, and a way back. */
export function Versions({ template, scope }: { template: Template; scope: Scope }) {
  const { v } = useSearch({ from: '/shell/templates/$id' })
  const canConfigure = useCanConfigure()
  const [isBack, goBack] = useState(false)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'template versions', template.id, scope.tenantId, template.version],
    queryFn: () =>
      get<PageOf<TemplateVersion>>(`/api/message-templates/${template.id}/versions`, { ...scope.query, limit: 200 }),
  })
  if (!data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  const chosen = data.items.find(({ version }) => String(version) === v) ?? data.items[0]
  const before = data.items.find(({ version }) => chosen && version < chosen.version)
  if (!chosen) return null
  const isCurrent = chosen.version === template.version
  return (
    <div className="two">
      <Panel
        title={`Version ${chosen.version}`}
        aside={
          canConfigure &&
          !isCurrent && (
            <Button size="xs" variant="default" onClick={() => goBack(true)}>
              Go back to it…
            </Button>
          )
        }
      >
        <div className="inside">
          {before ? (
            <DiffView
              label={`What changed since version ${before.version}`}
              before={textOf(draftOf(before))}
              after={textOf(draftOf(chosen))}
            />
          ) : (
            <DiffView label="The first one" before="" after={textOf(draftOf(chosen))} />
          )}
        </div>
      </Panel>
      <Panel title="Versions">
        <VersionTable versions={data.items} chosen={chosen.version} current={template.version} />
      </Panel>
      {isBack && (
        <SaveDialog
          title={`Go back to version ${chosen.version}`}
          template={template}
          draft={draftOf(chosen)}
          scope={scope}
          saved={() => {}}
          close={() => goBack(false)}
        />
      )}
    </div>
  )
}

function VersionTable({
  versions,
  chosen,
  current,
}: {
  versions: readonly TemplateVersion[]
  chosen: number
  current: number
}) {
  return (
    <table className="rows cards">
      <Heads names={['version', 'changed', 'by']} />
      <tbody>
        {versions.map(({ version, changedAt, changedBy, isActive }) => (
          <tr key={version} style={version === chosen ? { background: 'var(--pbx-hover)' } : undefined}>
            <td>
              <Group gap={6}>
                <Link
                  to="/templates/$id"
                  from="/templates/$id"
                  search={(old) => ({ ...old, v: String(version) })}
                  aria-current={version === chosen ? 'true' : undefined}
                  data-row=""
                >
                  {version}
                </Link>
                {version === current && <Text size="sm">in force</Text>}
                {!isActive && <Text size="sm">off</Text>}
              </Group>
            </td>
            <td>
              <When at={changedAt} />
            </td>
            <td>{changedBy}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
