import type { RollupMove } from '../../model/rollup.ts'
import { DELTA_COLUMNS, deltaValues, mergedMoves } from '../shared/rollup-deltas.ts'
import type { Connection } from './connection.ts'
import { insertText } from './scripts.ts'

const INSERT = insertText('rollup_deltas', DELTA_COLUMNS)

/** Writes what moved, in the transaction that moves it. */
export function insertMoves(connection: Connection, moves: readonly RollupMove[]): void {
  for (const move of mergedMoves(moves)) connection.prepare(INSERT).run(...deltaValues(move))
}
