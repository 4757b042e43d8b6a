import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkSandboxSettings, FAULT_KINDS, readSandboxSettings } from './settings.ts'

it('reads no settings as a vendor that accepts everything and honours keys', () => {
  const read = readSandboxSettings({})

  const settings = { honoursKeys: true, lookup: false, latencyMs: 0, limit: null, faults: [] }
  assert.deepEqual(read, { settings })
})

it('reads every setting', () => {
  const settings = {
    honoursKeys: false,
    lookup: true,
    latencyMs: 25,
    limit: { perSecond: 20 },
    faults: [
      { kind: 'timeout_after_accept', times: 2, ratio: 0.5, to: '*@example.test', channel: 'email', delayMs: 10 },
      { kind: 'permanent', reason: 'content_rejected', name: 'again' },
      { kind: 'rate_limited', retryAfterMs: 0 },
    ],
  }

  assert.deepEqual(readSandboxSettings(settings), { settings })
})

it('takes a vendor that can be asked for one that does not honour keys, unless it is said to', () => {
  const asked = readSandboxSettings({ lookup: true })
  const both = readSandboxSettings({ lookup: true, honoursKeys: true })

  assert.ok('settings' in asked && !asked.settings.honoursKeys)
  assert.ok('settings' in both && both.settings.honoursKeys)
})

it('accepts every kind of fault without further fields', () => {
  const faults = Object.keys(FAULT_KINDS).map((kind) => ({ kind }))

  assert.deepEqual(checkSandboxSettings({ faults }), [])
})

const WRONG: [unknown, string, RegExp][] = [
  [null, '', /must be an object/],
  [[], '', /must be an object/],
  [{ honorsKeys: true }, '/honorsKeys', /is not one of honoursKeys, lookup/],
  [{ honoursKeys: 'yes' }, '/honoursKeys', /must be true or false/],
  [{ lookup: 1 }, '/lookup', /must be true or false/],
  [{ latencyMs: -1 }, '/latencyMs', /number from 0 to 60000/],
  [{ latencyMs: 1.5 }, '/latencyMs', /must be a whole number/],
  [{ latencyMs: Number.NaN }, '/latencyMs', /must be a whole number/],
  [{ limit: 5 }, '/limit', /must be an object/],
  [{ limit: {} }, '/limit/perSecond', /is missing/],
  [{ limit: { perSecond: 0 } }, '/limit/perSecond', /number from 1 to/],
  [{ limit: { perSecond: 1, burst: 2 } }, '/limit/burst', /is not one of perSecond/],
  [{ faults: {} }, '/faults', /must be a list/],
  [{ onUndeliverable: 'ignore' }, '/onUndeliverable', /must be one of fail, park/],
  [{ faults: [null] }, '/faults/0/kind', /must be one of refuse, slow/],
  [{ faults: [{ kind: 'constructor' }] }, '/faults/0/kind', /must be one of/],
  [{ faults: [{ kind: 'refuse', times: 0 }] }, '/faults/0/times', /must be a whole number/],
  [{ faults: [{ kind: 'refuse', ratio: 0 }] }, '/faults/0/ratio', /above 0 and at most 1/],
  [{ faults: [{ kind: 'refuse', ratio: 1.1 }] }, '/faults/0/ratio', /above 0 and at most 1/],
  [{ faults: [{ kind: 'refuse', to: '' }] }, '/faults/0/to', /text of 1 to 255/],
  [{ faults: [{ kind: 'refuse', channel: 'fax' }] }, '/faults/0/channel', /must be one of whatsapp/],
  [{ faults: [{ kind: 'refuse', delayMs: 5 }] }, '/faults/0/delayMs', /is not one of kind/],
  [{ faults: [{ kind: 'slow', delayMs: 'long' }] }, '/faults/0/delayMs', /must be a whole number/],
  [{ faults: [{ kind: 'permanent', reason: 'because' }] }, '/faults/0/reason', /one of the reasons/],
  [{ faults: [{ kind: 'permanent', reason: 'toString' }] }, '/faults/0/reason', /one of the reasons/],
]

for (const [settings, path, message] of WRONG) {
  it(`refuses ${JSON.stringify(settings)} at "${path}"`, () => {
    const problems = checkSandboxSettings(settings)

    assert.equal(problems[0]?.path, path)
    assert.match(problems[0]?.message ?? '', message)
  })
}

it('names every problem at once', () => {
  const problems = checkSandboxSettings({ latencyMs: -1, faults: [{ kind: 'no' }, { kind: 'slow', times: -1 }] })

  assert.deepEqual(
    problems.map(({ path }) => path),
    ['/latencyMs', '/faults/0/kind', '/faults/1/times'],
  )
})
