import { Button } from '@mantine/core'
import type { Tenant } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../app/api.ts'
import { useCanConfigure, useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { ChangeSetting } from './change-setting.tsx'

/** A setting of the tenant: what it does, and what holds where the tenant says nothing. */
export interface Setting {
  key: Exclude<keyof Tenant, 'id' | 'createdAt'>
  name: string
  effect: string
  /** Null: it has to be set. */
  otherwise: string | null
  placeholder: string
  choices?: readonly string[]
}

const SETTINGS: Setting[] = [
  { key: 'name', name: 'Name', effect: 'What the tenant is called in lists.', otherwise: null, placeholder: 'Acme' },
  {
    key: 'defaultLocale',
    name: 'Default locale',
    effect: 'The language of whoever asks for none, and whose templates stand in for missing ones.',
    otherwise: null,
    placeholder: 'en-IN',
  },
  {
    key: 'timeZone',
    name: 'Time zone',
    effect: 'Where “at 09:00” and “24 h before” of event types are reckoned. Schedules that exist keep their time.',
    otherwise: null,
    placeholder: 'Asia/Kolkata',
  },
  {
    key: 'region',
    name: 'Region',
    effect: 'Telephone numbers without a country code are of this country.',
    otherwise: 'none: such numbers are refused',
    placeholder: 'IN',
  },
  {
    key: 'dateFormat',
    name: 'Dates',
    effect: 'How templates write dates, from the next message on.',
    otherwise: 'medium',
    placeholder: 'short, medium, long, full, iso or dd-MMM-yyyy',
  },
  {
    key: 'currency',
    name: 'Currency',
    effect: 'What amounts without one are in.',
    otherwise: 'none',
    placeholder: 'INR',
  },
  {
    key: 'missingPlaceholder',
    name: 'Missing placeholders',
    effect: 'What a placeholder without a value becomes: nothing, or its own name.',
    otherwise: 'empty',
    placeholder: '',
    choices: ['empty', 'keep'],
  },
  {
    key: 'retention',
    name: 'Retention',
    effect: 'How long what is over is kept. What is older goes with the next purge, for good.',
    otherwise: 'the server’s PILLARBOX_RETENTION',
    placeholder: 'P90D',
  },
  {
    key: 'hasuraSecretHeader',
    name: 'Header of Hasura’s secret',
    effect: 'The header in which Hasura sends its shared secret.',
    otherwise: 'none',
    placeholder: 'x-hasura-secret',
  },
]

export function TenantSettings() {
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const [chosen, choose] = useState<Setting | null>(null)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'tenant', scope.tenantId],
    queryFn: () => get<Tenant>('/api/tenant', scope.query),
    enabled: scope.tenantId !== null,
  })
  return (
    <Panel title={`Tenant ${scope.tenantId ?? ''}`}>
      {!data ? (
        error ? (
          <Trouble error={error} retry={() => void refetch()} />
        ) : (
          <Loading />
        )
      ) : (
        <table className="rows cards">
          <Heads names={['setting', 'value', 'from', 'effect', ...(canConfigure ? ['acts'] : [])]} />
          <tbody>
            {SETTINGS.map((setting) => (
              <tr key={setting.key}>
                <td>{setting.name}</td>
                <td className="mono">{data[setting.key] ?? setting.otherwise}</td>
                <td style={{ whiteSpace: 'nowrap' }}>{data[setting.key] === undefined ? 'default' : 'this tenant'}</td>
                <td data-wide="">{setting.effect}</td>
                {canConfigure && (
                  <td>
                    <Button
                      size="compact-xs"
                      variant="default"
                      onClick={() => choose(setting)}
                      aria-label={`Change ${setting.name}`}
                    >
                      Change…
                    </Button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {chosen && data && <ChangeSetting setting={chosen} tenant={data} scope={scope} close={() => choose(null)} />}
    </Panel>
  )
}
