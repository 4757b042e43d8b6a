import { SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { Contact } from '@pillarbox/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useScope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Narrow } from '../parts/narrow.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { When } from '../parts/when.tsx'
import { Conversations } from './conversations.tsx'
import { Suppressions } from './suppressions.tsx'

const TABS = [
  { value: 'contacts', label: 'contacts' },
  { value: 'conversations', label: 'conversations' },
  { value: 'suppressed', label: 'suppressed addresses' },
]

/** Who is told things, masked: one is shown whole where somebody asks for it, on record. */
export function Contacts() {
  const scope = useScope()
  const { q, tab = 'contacts' } = useSearch({ from: '/shell/contacts' })
  const navigate = useNavigate({ from: '/contacts' })
  return (
    <Stack gap="md">
      <Title order={1}>People</Title>
      <div style={{ overflowX: 'auto' }}>
        <SegmentedControl
          size="xs"
          aria-label="Show"
          value={tab}
          data={TABS}
          onChange={(value) => void navigate({ search: { tab: value === 'contacts' ? undefined : value } })}
        />
      </div>
      {tab !== 'conversations' && (
        <Narrow
          label="Find"
          placeholder={tab === 'contacts' ? 'id, number, address or name' : 'an address, whole'}
          value={q}
          narrow={(value) => void navigate({ search: (old) => ({ ...old, q: value }), replace: true })}
          isFirst
          width={280}
        />
      )}
      {tab === 'conversations' ? (
        <Conversations scope={scope} />
      ) : tab === 'suppressed' ? (
        <Suppressions scope={scope} address={q} />
      ) : (
        <ContactList q={q} />
      )}
    </Stack>
  )
}

function ContactList({ q }: { q: string | undefined }) {
  const scope = useScope()
  const list = usePaged<Contact>('/api/contacts', scope, { q })
  return (
    <section className="panel" aria-label="Contacts">
      <PagedList
        list={list}
        blank={
          <Blank title={q ? 'Nobody is found by this' : 'Nobody is known yet'}>
            <Text>
              {q
                ? 'Addresses, numbers and ids are found whole. A viewer finds names whole, too.'
                : 'Whoever an event names becomes a contact. They can also be made with POST /api/contacts.'}
            </Text>
          </Blank>
        }
      >
        {(contacts) => (
          <table className="rows cards">
            <Heads names={['name', 'phone', 'email', 'locale', 'profile', 'changed']} />
            <tbody>
              {contacts.map((contact) => (
                <tr key={contact.id}>
                  <td>
                    <Link to="/contacts/$id" params={{ id: contact.id }} data-row="">
                      {contact.name ?? 'without a name'}
                    </Link>
                  </td>
                  <td>{contact.phone}</td>
                  <td style={{ overflowWrap: 'anywhere' }}>{contact.email}</td>
                  <td>{contact.locale}</td>
                  <td className="mono">{contact.profileId ?? contact.userId}</td>
                  <td>
                    <When at={contact.updatedAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </PagedList>
    </section>
  )
}
