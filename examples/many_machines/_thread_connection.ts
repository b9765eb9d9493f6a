/**
 * A connection between the threads of one process: a `BroadcastChannel` carries what is published to all others.
 *
 * @module
 */
import { type Connection, localConnection } from "@exrp/replay/shards";

/** Makes a connection of this thread. All threads that give the same name are connected. */
export function threadConnection(name: string): Connection & { close(): Promise<void> } {
  const local = localConnection();
  const channel = new BroadcastChannel(name);
  const [publish, close] = [local.publish.bind(local), local.close.bind(local)];
  // Inboxes of different threads may have the same name. So where an answer goes, the thread is named before the inbox.
  const here = `thread-${crypto.randomUUID()}.`;

  local.publish = (subject, payload, options) => {
    if (subject.startsWith(here)) return publish(subject.slice(here.length), payload, options);
    const to = options?.reply === undefined ? undefined : { reply: here + options.reply };
    publish(subject, payload, to);
    channel.postMessage([subject, payload?.slice(), to]);
  };
  channel.onmessage = ({ data: [subject, payload, to] }) => {
    if (local.isClosed()) return;
    publish(subject.startsWith(here) ? subject.slice(here.length) : subject, payload, to);
  };
  local.close = () => {
    channel.close();
    return close();
  };
  return local;
}
