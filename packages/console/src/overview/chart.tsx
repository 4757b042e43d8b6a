import 'uplot/dist/uPlot.min.css'
import { Table, useComputedColorScheme } from '@mantine/core'
import type { Kpis } from '@pillarbox/client'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import { exact, useZone, type Zone } from '../parts/when.tsx'
import { count } from './tiles.tsx'

type Step = NonNullable<Kpis['total']['series']>[number]

/** What is drawn: each line has a colour and a pattern of its own. */
const LINES = [
  {
    name: 'made',
    dash: [2, 3],
    colour: { light: '#5b6270', dark: '#a3a9b5' },
    of: ({ counts }: Step) => counts.created,
  },
  { name: 'sent', dash: [], colour: { light: '#2f4ac0', dark: '#9db0ff' }, of: ({ counts }: Step) => counts.sent },
  {
    name: 'delivered',
    dash: [8, 3],
    colour: { light: '#146c43', dark: '#5fd39a' },
    of: ({ counts }: Step) => counts.delivered,
  },
  {
    name: 'parked or failed',
    dash: [1, 2],
    colour: { light: '#b3261e', dark: '#ff9b91' },
    of: ({ counts }: Step) => counts.parked + counts.failed,
  },
] as const

const HEIGHT = 220

export function Chart({ steps, isTable }: { steps: readonly Step[]; isTable: boolean }) {
  const zone = useZone()
  return isTable ? <AsTable steps={steps} zone={zone} /> : <AsLines steps={steps} zone={zone} />
}

function AsLines({ steps, zone }: { steps: readonly Step[]; zone: Zone }) {
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')

  useEffect(() => {
    const node = place.current
    if (!node) return undefined
    const [ink, line] = scheme === 'dark' ? ['#a3a9b5', '#2c3038'] : ['#5b6270', '#e3e6ec']
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
    const plot = new UPlot(
      {
        width: node.clientWidth,
        height: HEIGHT,
        ...(zone === 'utc' && { tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1_000), 'UTC') }),
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] } },
        axes: [
          { ...axis, values: (_plot, splits) => splits.map((seconds) => clockOf(seconds * 1_000, zone)) },
          { ...axis, size: 46 },
        ],
        legend: { live: false },
        series: [
          {},
          ...LINES.map(({ name, colour, dash }) => ({
            label: name,
            stroke: colour[scheme],
            width: 2,
            dash: [...dash],
            points: { show: false },
          })),
        ],
      },
      [steps.map(({ at }) => Date.parse(at) / 1_000), ...LINES.map(({ of }) => steps.map(of))],
      node,
    )
    const watcher = new ResizeObserver(() => plot.setSize({ width: node.clientWidth, height: HEIGHT }))
    watcher.observe(node)
    return () => {
      watcher.disconnect()
      plot.destroy()
    }
  }, [steps, scheme, zone])

  const sums = LINES.map(({ name, of }) => `${steps.reduce((sum, step) => sum + of(step), 0)} ${name}`)
  return <div ref={place} className="chart" role="img" aria-label={`In all ${sums.join(', ')}.`} />
}

/** The hour, or at midnight the day. */
function clockOf(ms: number, zone: Zone): string {
  const inZone = zone === 'utc' ? { timeZone: 'UTC' } : {}
  const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', ...inZone }).format(ms)
  if (clock !== '00:00') return clock
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...inZone }).format(ms)
}

function AsTable({ steps, zone }: { steps: readonly Step[]; zone: Zone }) {
  const busy = steps.filter((step) => LINES.some(({ of }) => of(step) > 0)).toReversed()
  return (
    <Table.ScrollContainer minWidth={480} mah={320} type="native">
      <Table captionSide="bottom">
        <Table.Caption>Times in which something happened, newest first.</Table.Caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">from</Table.Th>
            {LINES.map(({ name }) => (
              <Table.Th key={name} scope="col">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {busy.map((step) => (
            <Table.Tr key={step.at}>
              <Table.Th scope="row">{exact(step.at, zone)}</Table.Th>
              {LINES.map(({ name, of }) => (
                <Table.Td key={name}>{count(of(step))}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
