import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RecipientPaths } from '../model/catalogue.ts'
import type { EventRecipient } from '../model/event.ts'
import { type Audience, type AudienceEntry, audienceOf, type Recipient, recipientOfMember } from './recipients.ts'

const PATHS = [{ phone: 'guest.phone', email: 'guest.email', name: 'guest.name', locale: 'guest.locale' }]

function entries(audience: Audience): AudienceEntry[] {
  return Array.from({ length: audience.size }, (_, place) => audience.at(place)).filter((entry) => entry !== null)
}

function people(
  payload: unknown,
  paths: readonly RecipientPaths[],
  named: readonly EventRecipient[] | null = null,
  region: string | null = null,
): Recipient[] {
  const audience = audienceOf(payload as Record<string, unknown>, paths, named, region)
  return entries(audience).flatMap((entry) => ('recipient' in entry ? [entry.recipient] : []))
}

const keys = (found: readonly Recipient[]): string[] => found.map(({ key }) => key)

describe('recipients in the payload', () => {
  it('are found along the catalogue’s paths, with every address there is', () => {
    const payload = { guest: { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'de', secret: 'x' } }

    assert.deepEqual(people(payload, PATHS), [
      {
        address: { name: 'Ada', email: 'ada@example.test', phone: '+15550100' },
        locale: 'de',
        key: 'ada@example.test',
        place: null,
        identity: { phone: '+15550100', email: 'ada@example.test', name: 'Ada', locale: 'de' },
        element: null,
        contactId: null,
        conversationId: null,
      },
    ])
  })

  it('are never what was sealed, whatever the catalogue says by now', () => {
    const payload = { email: 'ada@example.test', token: 'rsvp-1', pin: 4711 }
    const paths = [{ email: 'email', name: 'token', userId: 'pin', profileId: 'token' }]
    const entry = audienceOf(payload, paths, null, null, ['rsvp-1', '4711']).at(0)

    assert.ok(entry && 'recipient' in entry)
    assert.deepEqual(entry.recipient.address, { email: 'ada@example.test' })
    assert.deepEqual(entry.recipient.identity, { email: 'ada@example.test' })
  })

  it('are as many as there are sets of paths', () => {
    const payload = { guest: { email: 'guest@example.test' }, host: { email: 'host@example.test' } }

    assert.deepEqual(keys(people(payload, [{ email: 'guest.email' }, { email: 'host.email' }])), [
      'guest@example.test',
      'host@example.test',
    ])
  })

  it('are left out when the payload has no address for them', () => {
    const paths = [{ email: 'guest.email', name: 'guest.name' }, { email: 'host.email' }]

    assert.deepEqual(keys(people({ guest: { name: 'Ada' }, host: { email: 'host@example.test' } }, paths)), [
      'host@example.test',
    ])
  })

  it('are read from own properties only', () => {
    const payload = Object.create({ email: 'inherited@example.test' }) as Record<string, unknown>
    payload['guest'] = {}

    for (const path of ['email', 'constructor.name', 'guest.constructor.name', '__proto__.email', 'toString.name'])
      assert.deepEqual(people(payload, [{ email: path }]), [], path)
  })

  it('are none where a path leads through something that is no object', () => {
    for (const guest of [null, 'Ada', 7, true, undefined, []]) assert.deepEqual(people({ guest }, PATHS), [])
  })

  it('are none where the payload is no object', () => {
    for (const payload of [null, 'text', 7, []]) assert.deepEqual(people(payload, PATHS), [])
  })
})

describe('a path through a list', () => {
  const passengers = [
    { name: 'Ada', phone: '+15550101', seat: '1A' },
    { name: 'Bo', phone: '+15550102', seat: '1B' },
  ]

  it('gives one recipient per element, its fields paired', () => {
    const paths = [{ phone: 'passengers[].phone', name: 'passengers[].name', locale: 'locale' }]

    assert.deepEqual(
      people({ passengers, locale: 'de' }, paths).map(({ address, locale, key }) => [address, locale, key]),
      [
        [{ name: 'Ada', phone: '+15550101' }, 'de', '+15550101'],
        [{ name: 'Bo', phone: '+15550102' }, 'de', '+15550102'],
      ],
    )
  })

  it('gives the element along, for the words', () => {
    const found = people({ passengers }, [{ phone: 'passengers[].phone' }])

    assert.deepEqual(
      found.map(({ element }) => element?.['seat']),
      ['1A', '1B'],
    )
  })

  it('may lead below the element, and to the list over other fields', () => {
    const payload = { trip: { seats: [{ who: { mail: 'a@example.test' } }, { who: { mail: 'b@example.test' } }] } }

    assert.deepEqual(keys(people(payload, [{ email: 'trip.seats[].who.mail' }])), ['a@example.test', 'b@example.test'])
  })

  it('may end at the element itself', () => {
    assert.deepEqual(keys(people({ emails: ['a@example.test', 'b@example.test'] }, [{ email: 'emails[]' }])), [
      'a@example.test',
      'b@example.test',
    ])
  })

  it('may go through a list within a list; what stands outside is paired with each inside', () => {
    const groups = [
      { locale: 'de', members: [{ phone: '+15550101' }, { phone: '+15550102' }] },
      { locale: 'fr', members: [{ phone: '+15550103' }] },
      { locale: 'it', members: null },
    ]

    assert.deepEqual(
      people({ groups }, [{ phone: 'groups[].members[].phone', locale: 'groups[].locale' }]).map(
        ({ key, locale }) => `${key} ${locale}`,
      ),
      ['+15550101 de', '+15550102 de', '+15550103 fr'],
    )
  })

  it('cannot be paired with a path through another list', () => {
    const payload = { phones: [{ phone: '+15550101' }], names: [{ name: 'Ada' }] }

    assert.deepEqual(
      people(payload, [{ phone: 'phones[].phone', name: 'names[].name' }]).map(({ address }) => address),
      [{ phone: '+15550101' }],
    )
  })

  it('finds nobody where there is no list', () => {
    for (const list of [undefined, null, 'text', {}, 7])
      assert.deepEqual(people({ list }, [{ phone: 'list[].phone' }]), [])
  })

  it('says of an element without an address where it stands', () => {
    const audience = audienceOf({ list: [{}, { phone: '+15550101' }, null] }, [{ phone: 'list[].phone' }], null, null)

    assert.equal(audience.size, 3)
    assert.deepEqual(
      [0, 2, 3].map((place) => audience.at(place)),
      [{ nobodyAt: 'list[0]' }, { nobodyAt: 'list[2]' }, null],
    )
    assert.deepEqual(
      [0, 1, 2, 3].map((place) => audience.where(place)),
      ['list[0]', 'list[1]', 'list[2]', null],
    )
  })

  it('says so in a list within a list, behind whoever is named beside it, and among recipients of the event', () => {
    const groups = [{ members: [{ phone: '+15550101' }] }, { members: [{ phone: '+15550102' }, { name: 'Ada' }] }]
    const paths = [{ email: 'host.email' }, { phone: 'groups[].members[].phone' }]
    const nested = audienceOf({ groups }, paths, null, null)
    const named = audienceOf({}, [], [{ email: 'ada@example.test' }, { name: 'Bo' }], null)

    assert.deepEqual([nested.at(0), nested.where(0)], [null, null])
    assert.deepEqual([nested.size, nested.at(3)], [4, { nobodyAt: 'groups[1].members[1]' }])
    assert.deepEqual([named.size, named.at(1)], [2, { nobodyAt: 'recipients[1]' }])
  })

  it('reads only what is asked for', () => {
    let reads = 0
    const element = (): Record<string, unknown> =>
      Object.defineProperty({}, 'phone', { enumerable: true, get: () => `+1555010${++reads}` })
    const list = Array.from({ length: 1_000 }, element)

    audienceOf({ list }, [{ phone: 'list[].phone' }], null, null).at(500)

    assert.equal(reads, 1)
  })
})

describe('what stands in a field', () => {
  const emailOf = (value: unknown): string | undefined =>
    people({ value, id: 'p1' }, [{ email: 'value', profileId: 'id' }])[0]?.address.email

  it('is trimmed', () => {
    assert.equal(emailOf('  ada@example.test\n'), 'ada@example.test')
  })

  it('counts as missing when it is blank', () => {
    assert.equal(emailOf(''), undefined)
    assert.equal(emailOf(' \t '), undefined)
  })

  it('may be a number', () => {
    const [found] = people({ phone: 4915112345678, user: 0 }, [{ phone: 'phone', userId: 'user' }])

    assert.deepEqual(found?.address, { phone: '4915112345678', userId: '0' })
  })

  it('counts as missing when it is anything else', () => {
    for (const value of [null, undefined, true, {}, ['ada@example.test'], () => 'ada@example.test'])
      assert.equal(emailOf(value), undefined)
  })

  it('is a telephone number of the tenant’s region, in E.164', () => {
    const [found] = people({ phone: '0151 23456789' }, [{ phone: 'phone' }], null, 'DE')

    assert.deepEqual([found?.address.phone, found?.identity?.phone, found?.key], Array(3).fill('+4915123456789'))
  })

  it('is sent to unmodified where it is E.164 already (A13)', () => {
    assert.equal(
      people({ phone: '+919876543210' }, [{ phone: 'phone' }], null, 'DE')[0]?.address.phone,
      '+919876543210',
    )
  })

  it('stays as it is where it is no number or address, and identifies nobody', () => {
    const [found] = people({ phone: 'ask at the desk', email: 'nowhere' }, [{ phone: 'phone', email: 'email' }])

    assert.deepEqual(found?.address, { phone: 'ask at the desk', email: 'nowhere' })
    assert.equal(found.identity, null)
  })

  it('is an email folded safely: sent to as written, told apart without regard to case', () => {
    const [found] = people({ email: ' Ada@EXAMPLE.test' }, [{ email: 'email' }])

    assert.deepEqual([found?.address.email, found?.key], ['Ada@example.test', 'ada@example.test'])
  })

  it('is a platform only where we know it', () => {
    const platformOf = (platform: unknown) =>
      people({ token: 't', platform }, [{ deviceToken: 'token', platform: 'platform' }])[0]?.address.platform

    assert.deepEqual([platformOf('FCM'), platformOf('wns'), platformOf('apple')], ['fcm', 'wns', undefined])
  })
})

describe('the key that tells recipients apart', () => {
  const keyOf = (fields: Record<string, string>): string | undefined => {
    const paths = Object.fromEntries(Object.keys(fields).map((field) => [field, field]))
    return people(fields, [paths])[0]?.key
  }

  it('is the profile, else the user, else the first address', () => {
    const all = { profileId: 'p', userId: 'u', email: 'e', phone: 't', deviceToken: 'd', url: 'w' }
    const order = ['profileId', 'userId', 'email', 'phone', 'deviceToken', 'url'] as const
    const left: Record<string, string> = { ...all }

    for (const field of order) {
      const key = keyOf(left)
      if (field === 'deviceToken') assert.match(key ?? '', /^device-[\w-]{43}$/)
      else assert.equal(key, all[field])
      delete left[field]
    }
  })

  it('is not the name: a name is no address', () => {
    assert.equal(keyOf({ name: 'Ada', locale: 'en' }), undefined)
  })
})

describe('recipients the event names itself', () => {
  it('take the place of those in the payload', () => {
    const named: EventRecipient[] = [{ email: ' eve@example.test ', locale: 'fr', name: 'Eve' }, { phone: '+15550101' }]

    const found = people({ guest: { email: 'ada@example.test' } }, PATHS, named)

    assert.deepEqual(
      found.map(({ address, locale, key }) => ({ address, locale, key })),
      [
        { address: { name: 'Eve', email: 'eve@example.test' }, locale: 'fr', key: 'eve@example.test' },
        { address: { phone: '+15550101' }, locale: null, key: '+15550101' },
      ],
    )
  })

  it('are those of the payload when the event’s list is empty', () => {
    assert.equal(people({ guest: { email: 'ada@example.test' } }, PATHS, []).length, 1)
  })

  it('may be a contact that is known', () => {
    const [found] = people({}, [], [{ contactId: 'c-1' }])

    assert.deepEqual(found?.identity, { contactId: 'c-1' })
    assert.equal(found.key, 'contact:c-1')
  })
})

describe('a recipient list', () => {
  const listsOf = (
    payload: Record<string, unknown>,
    paths: RecipientPaths[],
    named: EventRecipient[] | null = null,
  ): AudienceEntry[] => entries(audienceOf(payload, paths, named, null))

  it('is named by the catalogue', () => {
    assert.deepEqual(listsOf({}, [{ list: 'ops-team' }]), [{ list: 'ops-team', isExpanded: false }])
  })

  it('or by the field of the payload that the catalogue names', () => {
    assert.deepEqual(listsOf({ alarm: { list: 'night shift' } }, [{ list: 'alarm.list', expand: true }]), [
      { list: 'night shift', isExpanded: true },
    ])
  })

  it('or by the event itself', () => {
    assert.deepEqual(listsOf({}, [], [{ list: 'ops-team', expand: true }]), [{ list: 'ops-team', isExpanded: true }])
  })

  it('that is expanded is several people, whoever else there is', () => {
    const audience = (paths: RecipientPaths[]) => audienceOf({}, paths, null, null)

    assert.equal(audience([{ list: 'a' }]).isSeveral, false)
    assert.equal(audience([{ list: 'a', expand: true }]).isSeveral, true)
    assert.equal(audience([{ list: 'a' }, { list: 'b' }]).isSeveral, true)
  })

  it('has members that are recipients like any other', () => {
    const member = { name: 'Ada', email: 'Ada@example.test', phone: null }

    assert.equal(recipientOfMember(member, null)?.key, 'ada@example.test')
    assert.equal(recipientOfMember({ name: 'Nobody', email: null, phone: null }, null), null)
  })
})
