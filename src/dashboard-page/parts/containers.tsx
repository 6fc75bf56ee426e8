/** A modal dialog, a titled panel, and a placeholder for data that does not exist. The dialog is the native element, which keeps the focus inside. */
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly wide?: boolean
}

export function Dialog({ title, onClose, children, wide = false }: DialogProps): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    ref.current!.showModal()
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog closes it; with the keyboard, Escape does.
    <dialog
      ref={ref}
      class={wide ? 'wide' : ''}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

/** Shown in the place of data that has not arrived, or does not exist. */
export function Placeholder({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="placeholder">{children}</p>
}

export interface PanelProps {
  readonly title: string
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A titled section of a page. */
export function Panel({ title, note, actions, children }: PanelProps): JSX.Element {
  const id = useId()
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span class="muted">{note}</span>}
        {actions}
      </header>
      {children}
    </section>
  )
}

interface PageTitleProps {
  readonly title: string
  /** Beside the title, less prominent. */
  readonly detail?: ComponentChildren
  readonly isLoading?: boolean
}

/** The heading of a view, which is also the title of the window. */
export function PageTitle({ title, detail, isLoading = false }: PageTitleProps): JSX.Element {
  useEffect(() => {
    document.title = `${title} – kopf`
  }, [title])
  return (
    <>
      <div class="page-title">
        <h1>{title}</h1>
        {detail !== undefined && <span class="muted">{detail}</span>}
      </div>
      {isLoading && <Placeholder>Loading …</Placeholder>}
    </>
  )
}
