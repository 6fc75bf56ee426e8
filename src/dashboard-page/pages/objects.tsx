/** The list of objects: filtered and sorted by the operator, with as many rows in the page as are visible. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ObjectState, ObjectsView } from '../../dashboard/protocol.ts'
import { useLive } from '../live.ts'
import { PageTitle } from '../parts/containers.tsx'
import { countOf } from '../parts/format.ts'
import { Icon } from '../parts/icons.tsx'
import { stateMeanings, states, stateTones, stateWords } from '../parts/state.tsx'
import { changeQuery, toSearch, type ViewAddress } from '../route.ts'
import { ObjectRows, pageOf } from './object-rows.tsx'

type ListFilters = ViewAddress['query']

/** Time without a key after which the text is used as a filter. */
const typingMs = 200

export function ObjectsPage({ query }: { readonly query: ListFilters }): JSX.Element {
  const [first, setFirst] = useState(0)
  const filters = toSearch(query)
  useEffect(() => setFirst(0), [filters])
  const { data } = useLive('objects', toSearch({ sort: 'state', ...query, ...pageOf(first) }))
  return (
    <>
      <PageTitle title="Objects" detail={data === undefined ? 'Loading …' : countOf(data.total, 'object')} />
      <Filters query={query} data={data} />
      <ObjectRows data={data} query={query} resetKey={filters} onScroll={setFirst} />
    </>
  )
}

function Filters({
  query,
  data,
}: {
  readonly query: ListFilters
  readonly data: ObjectsView | undefined
}): JSX.Element {
  const resources = data?.resources ?? []
  const namespaces = data?.namespaces ?? []
  return (
    <search class="filters">
      <TextFilter value={query['text'] ?? ''} />
      <Choice label="Resource" name="resource" all="All resources" values={resources} query={query} />
      <Choice label="Namespace" name="namespace" all="All namespaces" values={namespaces} query={query} />
      <StateFilter value={query['state'] ?? ''} />
      <Sorting query={query} />
    </search>
  )
}

function TextFilter({ value }: { readonly value: string }): JSX.Element {
  const timer = useRef<ReturnType<typeof setTimeout>>()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // The address may have changed by a link. A text that the user types now is not replaced.
    if (document.activeElement !== input.current) input.current!.value = value
  }, [value])
  const change = (text: string, delayMs: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => changeQuery({ text: text.trim() }), delayMs)
  }
  return (
    <label class="text-filter">
      <Icon name="search" />
      <span class="hidden">Filter by text</span>
      <input
        ref={input}
        data-filter
        type="search"
        placeholder="Filter by name ( / )"
        defaultValue={value}
        spellcheck={false}
        autocomplete="off"
        onInput={({ currentTarget }) => change(currentTarget.value, typingMs)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') change(currentTarget.value, 0)
          if (key === 'Escape') currentTarget.blur()
        }}
      />
    </label>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly name: string
  readonly all: string
  readonly values: readonly string[]
  readonly query: ListFilters
}

function Choice({ label, name, all, values, query }: ChoiceProps): JSX.Element {
  const value = query[name] ?? ''
  const known = value === '' || values.includes(value) ? values : [value, ...values]
  return (
    <label>
      <span class="hidden">{label}</span>
      <select value={value} onChange={({ currentTarget }) => changeQuery({ [name]: currentTarget.value })}>
        <option value="">{all}</option>
        {known.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  )
}

function StateFilter({ value }: { readonly value: string }): JSX.Element {
  const chosen = value === '' ? [] : value.split(',')
  const toggle = (state: ObjectState) => {
    const next = chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state]
    changeQuery({ state: next.join(',') })
  }
  return (
    <fieldset class="state-filter">
      <legend class="hidden">States</legend>
      {states.map((state) => (
        <button
          key={state}
          type="button"
          class={`badge ${stateTones[state]}`}
          aria-pressed={chosen.includes(state)}
          title={stateMeanings[state]}
          onClick={() => toggle(state)}
        >
          <Icon name={state} />
          {stateWords[state]}
        </button>
      ))}
    </fieldset>
  )
}

const orders: readonly (readonly [sort: string, label: string])[] = [
  ['', 'Most urgent first'],
  ['changed', 'Last changed first'],
  ['errors', 'Most errors first'],
  ['name', 'By name'],
]

function Sorting({ query }: { readonly query: ListFilters }): JSX.Element {
  return (
    <label>
      <span class="hidden">Order</span>
      <select value={query['sort'] ?? ''} onChange={({ currentTarget }) => changeQuery({ sort: currentTarget.value })}>
        {orders.map(([sort, label]) => (
          <option key={sort} value={sort}>
            {label}
          </option>
        ))}
      </select>
    </label>
  )
}
