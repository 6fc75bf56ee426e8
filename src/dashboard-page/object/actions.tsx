/** What a user may do with an object. Actions that are refused to the user are not shown. Each is confirmed, and its result is said in a sentence. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { ActionName, ObjectRef } from '../../dashboard/protocol.ts'
import { Dialog } from '../parts/containers.tsx'
import { Icon } from '../parts/icons.tsx'
import { runAction, toMessage } from '../session.ts'

interface ActionText {
  readonly button: string
  readonly question: string
  readonly meaning: string
  readonly isDangerous: boolean
}

const texts: Readonly<Record<ActionName, ActionText>> = {
  retry: {
    button: 'Retry now',
    question: 'Retry the failed handlers now?',
    meaning:
      'Handlers, daemons and timers that wait for their next attempt after an error are called at once. Nothing else changes.',
    isDangerous: false,
  },
  reconcile: {
    button: 'Reconcile now',
    question: 'Reconcile this object now?',
    meaning: 'Its reconcilers are called at once, and correct its children where they differ from the desired state.',
    isDangerous: false,
  },
  release: {
    button: 'Remove the finalizer',
    question: 'Remove the finalizer of the operator?',
    meaning:
      'The operator does not clean up after this object: whatever its delete handlers and daemons would remove stays. An object that is being deleted is deleted at once.',
    isDangerous: true,
  },
}

export function Actions(props: {
  readonly object: ObjectRef
  readonly actions: readonly ActionName[]
}): JSX.Element | null {
  const { object, actions } = props
  const [chosen, choose] = useState<ActionName>()
  const [result, setResult] = useState('')
  if (actions.length === 0 && result === '') return null
  return (
    <div class="actions">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class={texts[action].isDangerous ? 'danger' : ''}
          onClick={() => {
            setResult('')
            choose(action)
          }}
        >
          {texts[action].button}
        </button>
      ))}
      <p role="status" class="action-result">
        {result !== '' && (
          <>
            <Icon name="done" /> {result}
          </>
        )}
      </p>
      {chosen !== undefined && (
        <Confirmation object={object} action={chosen} onClose={() => choose(undefined)} onDone={setResult} />
      )}
    </div>
  )
}

interface ConfirmationProps {
  readonly object: ObjectRef
  readonly action: ActionName
  readonly onClose: () => void
  readonly onDone: (message: string) => void
}

function Confirmation({ object, action, onClose, onDone }: ConfirmationProps): JSX.Element {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const { button, question, meaning, isDangerous } = texts[action]
  const confirm = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    try {
      const { resource, namespace, name, uid } = object
      const ref = { resource, name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) }
      onDone((await runAction({ action, object: ref })).message)
      onClose()
    } catch (error) {
      setProblem(toMessage(error))
      setBusy(false)
    }
  }
  return (
    <Dialog title={question} onClose={onClose}>
      <p class="mono">
        {object.namespace !== undefined && `${object.namespace}/`}
        {object.name} <span class="muted">{object.resource}</span>
      </p>
      <p>{meaning}</p>
      <p role="alert" class="form-problem">
        {problem}
      </p>
      <form class="buttons" onSubmit={confirm}>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class={isDangerous ? 'primary danger' : 'primary'} disabled={isBusy}>
          {button}
        </button>
      </form>
    </Dialog>
  )
}
