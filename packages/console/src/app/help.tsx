import { Kbd, Modal, Table } from '@mantine/core'
import { SCREENS } from './screens.tsx'

const KEYS: [string[], string][] = [
  [['Ctrl', 'K'], 'Go to a screen, or paste an id'],
  [['/'], 'To the search of the list'],
  [['j'], 'Next row'],
  [['k'], 'Row before'],
  [['Enter'], 'Open the row'],
  [['x'], 'Tick the row'],
  [['Shift', 'x'], 'Tick all from the one ticked last'],
  [['r'], 'Retry what is ticked: asks first'],
  [['d'], 'Discard what is ticked: asks first'],
  [['u'], 'Undo what has just been started'],
  [['t'], 'Today, on the schedules'],
  [['Esc'], 'Close what is open'],
  [['?'], 'This list'],
]

export function Help({ close }: { close: () => void }) {
  const all = [...SCREENS.map(({ key, name }): [string[], string] => [['g', key], name]), ...KEYS]
  return (
    <Modal opened onClose={close} title="Keys" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Table>
        <Table.Tbody>
          {all.map(([keys, does]) => (
            <Table.Tr key={does}>
              <Table.Th scope="row" w={120}>
                {keys.map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Th>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  )
}
