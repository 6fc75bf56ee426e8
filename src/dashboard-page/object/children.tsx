/** The children of a reconciler as a tree: by resource, each child with its conditions. */
import type { JSX } from 'preact'
import type { ChildRow } from '../../dashboard/protocol.ts'
import { Panel } from '../parts/containers.tsx'
import { countOf } from '../parts/format.ts'
import { Badge, ResourceName } from '../parts/state.tsx'

/** Children that are drawn for each resource; the others are counted. */
const maxShown = 100

export function Children({
  rows,
  owner,
}: {
  readonly rows: readonly ChildRow[]
  readonly owner: string
}): JSX.Element | null {
  if (rows.length === 0) return null
  const byResource = new Map<string, ChildRow[]>()
  for (const row of rows) byResource.set(row.resource, [...(byResource.get(row.resource) ?? []), row])
  const ready = rows.filter(({ isReady }) => isReady).length
  return (
    <Panel title="Children" note={`${ready} of ${countOf(rows.length, 'child', 'children')} ready`}>
      <ul class="tree">
        <li>
          <strong>{owner}</strong>
          <ul>
            {[...byResource].map(([resource, children]) => (
              <li key={resource}>
                <ResourceName resource={resource} />
                <ul>
                  {children.slice(0, maxShown).map((child) => (
                    <Child key={`${child.namespace}/${child.name}`} child={child} />
                  ))}
                  {children.length > maxShown && <li class="muted">and {children.length - maxShown} more</li>}
                </ul>
              </li>
            ))}
          </ul>
        </li>
      </ul>
    </Panel>
  )
}

function Child({ child }: { readonly child: ChildRow }): JSX.Element {
  const { name, namespace, conditions } = child
  const title = (
    <>
      <ChildBadge child={child} /> {namespace !== undefined && <span class="muted">{namespace}/</span>}
      {name}
    </>
  )
  if (conditions.length === 0) return <li>{title}</li>
  return (
    <li>
      <details open={!child.isReady}>
        <summary>{title}</summary>
        <ul class="conditions">
          {conditions.map(({ type, status, reason, message }) => (
            <li key={type}>
              <Badge tone={status === 'True' ? 'good' : 'idle'} icon={status === 'True' ? 'done' : 'no'}>
                {type}: {status}
              </Badge>{' '}
              {reason} {message !== undefined && message !== '' && <span class="muted">{message}</span>}
            </li>
          ))}
        </ul>
      </details>
    </li>
  )
}

function ChildBadge({ child: { isReady, deleting } }: { readonly child: ChildRow }): JSX.Element {
  if (deleting !== undefined) {
    return (
      <Badge tone="leave" icon="deleting">
        Deleting
      </Badge>
    )
  }
  return isReady ? (
    <Badge tone="good" icon="done">
      Ready
    </Badge>
  ) : (
    <Badge tone="warn" icon="waiting">
      Not ready
    </Badge>
  )
}
