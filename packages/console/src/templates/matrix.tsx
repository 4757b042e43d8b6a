import type { EventType, Template } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get, type PageOf } from '../app/api.ts'
import { type Scope, useCanConfigure } from '../app/session.ts'
import { useTenant } from '../app/tenant.ts'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'
import { Panel } from '../parts/panel.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'

interface MatrixProps {
  type: string
  eventType: EventType | null
  scope: Scope
  /** The one that is open. */
  currentId?: string | undefined
}

/** What an event type says on which channel in which language, and where it says nothing. */
export function Matrix({ type, eventType, scope, currentId }: MatrixProps) {
  const canConfigure = useCanConfigure()
  const { data: tenant } = useTenant(scope)
  const { data } = useQuery({
    queryKey: ['live', 'templates', 'of', scope.tenantId, type],
    queryFn: () => get<PageOf<Template>>('/api/message-templates', { ...scope.query, eventType: type, limit: 200 }),
  })
  if (!data || !tenant) return null
  const { defaultLocale } = tenant
  const general = data.items.filter(({ scopeType }) => scopeType === null)
  const locales = [...new Set([defaultLocale, ...general.map(({ locale }) => locale)])]
  const channels = channelsOf(eventType, general)
  const find = (channel: string, locale: string): Template | undefined =>
    general.find((each) => each.channel === channel && each.locale === locale)
  return (
    <Panel title={`Languages and channels of ${type}`}>
      <div style={{ overflowX: 'auto' }}>
        <table className="rows">
          <thead>
            <tr>
              <th scope="col">locale</th>
              {channels.map((channel) => (
                <th key={channel} scope="col">
                  {channelWord(channel)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {locales.map((locale) => (
              <tr key={locale}>
                <th scope="row">
                  {locale}
                  {locale === defaultLocale && ' (default)'}
                </th>
                {channels.map((channel) => {
                  const template = find(channel, locale)
                  return (
                    <td key={channel}>
                      {template ? (
                        <Cell
                          template={template}
                          byDefault={find(channel, defaultLocale)}
                          isCurrent={template.id === currentId}
                        />
                      ) : canConfigure ? (
                        <Link to="/templates/new" search={{ eventType: type, channel, locale }}>
                          none: write it
                        </Link>
                      ) : (
                        <span style={{ color: 'var(--mantine-color-dimmed)' }}>none</span>
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Scoped templates={data.items.filter(({ scopeType }) => scopeType !== null)} />
    </Panel>
  )
}

const LOOKS: Record<string, Look> = {
  ok: { tone: 'good', shape: SHAPES.tick, means: 'It is used.' },
  off: { tone: 'calm', shape: SHAPES.dash, means: 'It is switched off: nothing is made from it.' },
  older: { tone: 'warn', shape: SHAPES.clock, means: 'The words of the default language were changed after these.' },
  look: { tone: 'warn', shape: SHAPES.hand, means: 'Something in it was probably not meant.' },
}

function Cell({
  template,
  byDefault,
  isCurrent,
}: {
  template: Template
  byDefault: Template | undefined
  isCurrent: boolean
}) {
  const isOlder =
    byDefault !== undefined &&
    byDefault.id !== template.id &&
    byDefault.isEdited &&
    byDefault.updatedAt > template.updatedAt
  const standing = !template.isActive ? 'off' : isOlder ? 'older' : template.warnings.length > 0 ? 'look' : 'ok'
  const word = standing === 'older' ? `older than ${byDefault?.locale}` : standing === 'look' ? 'look at it' : standing
  return (
    <Link to="/templates/$id" params={{ id: template.id }} aria-current={isCurrent ? 'page' : undefined}>
      <Mark look={LOOKS[standing] as Look} word={word} />
    </Link>
  )
}

function Scoped({ templates }: { templates: readonly Template[] }) {
  if (templates.length === 0) return null
  return (
    <p className="note">
      For some only:{' '}
      {templates.map(({ id, scopeType, scopeId, channel, locale }) => (
        <Link key={id} to="/templates/$id" params={{ id }} style={{ marginRight: 12 }}>
          {scopeType} {scopeId}, {channelWord(channel)}, {locale}
        </Link>
      ))}
    </p>
  )
}

/** Those that the event type is told on, and those that have words. */
function channelsOf(eventType: EventType | null, templates: readonly Template[]): string[] {
  const { all, channels, fallback } = eventType?.delivery ?? {}
  const told: readonly string[] = channels ?? fallback ?? (all ? ['email', 'sms'] : [])
  const written = templates.map(({ channel }) => channel)
  return CHANNEL_NAMES.filter((name) => told.includes(name) || written.includes(name as Template['channel']))
}
