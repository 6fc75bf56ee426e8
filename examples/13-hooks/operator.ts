import { Operator } from 'kopf'

/** Stands for a connection to something outside of the cluster. */
class Connection {
  isOpen = true
  greet(name: string) {
    return `hello, ${name}`
  }
  close() {
    this.isOpen = false
  }
}

/** What startup puts into the memo is in the memo of every object. */
const kopf = new Operator({ memo: () => ({ connection: undefined as Connection | undefined }) })

kopf.on.startup(({ settings, memo, logger }) => {
  settings.execution.defaultBackoff = '15s'
  settings.persistence.finalizer = 'example.com/finalizer'
  memo.connection = new Connection()
  logger.info('Connected')
})

kopf.on.create('kopfexamples', ({ name, memo }) => ({ message: memo.connection?.greet(name) }))

kopf.on.delete('kopfexamples', ({ logger }) => logger.info('Cleaned up after it'))

kopf.on.cleanup(({ memo, logger }) => {
  memo.connection?.close()
  logger.info('Disconnected')
})

export default kopf
