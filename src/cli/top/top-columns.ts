/** The columns and the sort orders of the tables of `kopf top`. Pure. */
import type { HandlerRow, ObjectRow, ObjectState, ResourceSummary } from '../../dashboard/protocol.ts'
import type { Palette } from '../display/colours.ts'
import { toDuration, toNumber } from '../display/render.ts'
import { failingStates } from './top-snapshot.ts'
import type { TableColumn } from './top-table.ts'
import type { sortKeys, TopView } from './top-view.ts'

const paintedStates: Readonly<Partial<Record<ObjectState, 'red' | 'yellow' | 'green'>>> = {
  failed: 'red',
  retrying: 'yellow',
  handled: 'green',
}

function paintState(state: ObjectState, palette: Palette): (text: string) => string {
  const paint = Object.hasOwn(paintedStates, state) ? paintedStates[state] : undefined
  return paint === undefined ? (text) => text : palette[paint]
}

function stateColumn(state: ObjectState, rank: number): TableColumn<ResourceSummary> {
  return {
    title: state.toUpperCase(),
    alignment: 'right',
    rank,
    text: ({ states }) => (states === undefined ? '-' : toAmount(states[state])),
    paint: ({ states }, palette) => (states && states[state] > 0 ? paintState(state, palette) : palette.dim),
  }
}

export const resourceColumns: readonly TableColumn<ResourceSummary>[] = [
  { title: 'RESOURCE', rank: 0, minWidth: 20, text: ({ resource }) => resource },
  {
    title: 'OBJECTS',
    alignment: 'right',
    rank: 3,
    text: ({ states }) => (states ? toAmount(sum(states)) : '-'),
  },
  stateColumn('failed', 1),
  stateColumn('retrying', 2),
  stateColumn('handling', 5),
  stateColumn('waiting', 4),
  stateColumn('deleting', 7),
  stateColumn('handled', 6),
  {
    title: 'WATCH',
    rank: 8,
    text: ({ streams }) => (streams.down > 0 ? `${toAmount(streams.down)} down` : 'ok'),
    paint: ({ streams }, palette) => (streams.down > 0 ? palette.red : palette.dim),
  },
]

function sum(states: Readonly<Record<ObjectState, number>>): number {
  return Object.values(states).reduce((total, count) => total + count, 0)
}

export const handlerColumns: readonly TableColumn<HandlerRow>[] = [
  { title: 'HANDLER', rank: 0, minWidth: 12, text: ({ id }) => id },
  { title: 'TYPE', rank: 5, text: ({ type }) => type },
  { title: 'RESOURCE', rank: 7, minWidth: 10, text: ({ resource }) => resource ?? '' },
  { title: 'CALLS', alignment: 'right', rank: 1, text: ({ calls }) => toAmount(calls) },
  { title: 'RUNNING', alignment: 'right', rank: 6, text: ({ running }) => toAmount(running) },
  {
    title: 'RETRIED',
    alignment: 'right',
    rank: 4,
    text: ({ retrying }) => toAmount(retrying),
    paint: ({ retrying }, palette) => (retrying > 0 ? palette.yellow : palette.dim),
  },
  {
    title: 'FAILED',
    alignment: 'right',
    rank: 2,
    text: ({ failed }) => toAmount(failed),
    paint: ({ failed }, palette) => (failed > 0 ? palette.red : palette.dim),
  },
  { title: 'P50', alignment: 'right', rank: 8, text: ({ p50Ms }) => toShort(p50Ms) },
  { title: 'P99', alignment: 'right', rank: 3, text: ({ p99Ms }) => toShort(p99Ms) },
]

export function objectColumns(nowMs: number): readonly TableColumn<ObjectRow>[] {
  return [
    {
      title: 'STATE',
      rank: 1,
      text: ({ state }) => state,
      paint: ({ state }, palette) => paintState(state, palette),
    },
    {
      title: 'OBJECT',
      rank: 0,
      minWidth: 16,
      text: ({ namespace, name }) => (namespace === undefined ? name : `${namespace}/${name}`),
    },
    { title: 'RESOURCE', rank: 5, minWidth: 10, text: ({ resource }) => resource },
    { title: 'ERRORS', alignment: 'right', rank: 4, text: ({ errors }) => toAmount(errors) },
    { title: 'NEXT', alignment: 'right', rank: 2, text: ({ nextAtMs }) => describeNext(nextAtMs, nowMs) },
    { title: 'WHY', rank: 3, minWidth: 10, text: ({ why }) => why ?? '' },
  ]
}

function describeNext(atMs: number | undefined, nowMs: number): string {
  if (atMs === undefined) return '-'
  return atMs <= nowMs ? 'now' : `in ${toDuration(atMs - nowMs)}`
}

type RowOrder<T> = (a: T, b: T) => number

const failing = ({ states }: ResourceSummary) =>
  states ? failingStates.reduce((count, state) => count + states[state], 0) : -1

const resourceOrders: Readonly<Record<(typeof sortKeys.resources)[number], RowOrder<ResourceSummary>>> = {
  failing: (a, b) => failing(b) - failing(a) || compare(a.resource, b.resource),
  name: (a, b) => compare(a.resource, b.resource),
  objects: (a, b) =>
    (b.states ? sum(b.states) : -1) - (a.states ? sum(a.states) : -1) || compare(a.resource, b.resource),
}

const errorsOf = ({ failed, retrying }: HandlerRow) => failed + retrying

const handlerOrders: Readonly<Record<(typeof sortKeys.handlers)[number], RowOrder<HandlerRow>>> = {
  calls: (a, b) => b.calls - a.calls || compare(a.id, b.id),
  errors: (a, b) => errorsOf(b) - errorsOf(a) || compare(a.id, b.id),
  p99: (a, b) => (b.p99Ms ?? -1) - (a.p99Ms ?? -1) || compare(a.id, b.id),
  name: (a, b) => compare(a.id, b.id),
}

export function sortResources(rows: readonly ResourceSummary[], { tables: { resources } }: TopView): ResourceSummary[] {
  return sortBy(rows, resourceOrders[resources.sort as keyof typeof resourceOrders], resources.isReversed)
}

export function sortHandlers(rows: readonly HandlerRow[], { tables: { handlers } }: TopView): HandlerRow[] {
  return sortBy(rows, handlerOrders[handlers.sort as keyof typeof handlerOrders], handlers.isReversed)
}

function sortBy<T>(rows: readonly T[], comparison: RowOrder<T>, isReversed: boolean): T[] {
  return rows.toSorted(isReversed ? (a, b) => comparison(b, a) : comparison)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Anything else than a number is written as a dash: the number is that of an operator of any version. */
export function toAmount(value: number | undefined): string {
  return Number.isFinite(value) ? toNumber(value!) : '-'
}

export function toRate(value: number | undefined): string {
  if (!Number.isFinite(value)) return '-'
  return value! >= 100 ? toNumber(Math.round(value!)) : value!.toFixed(1)
}

/** `3 ms`, `1.2 s` */
function toShort(ms: number | undefined): string {
  if (!Number.isFinite(ms)) return '-'
  return ms! < 1000 ? `${Math.round(ms!)} ms` : toDuration(ms!)
}
