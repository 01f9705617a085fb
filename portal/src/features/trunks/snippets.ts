/** Ready configuration of common PBXs for a trunk, and of the request that proves a network. */

export interface TrunkSettings {
  /** SIP host of the zone, with a port if it is not 5060. */
  address: string;
  name: string;
  channels: number;
}

export interface ProofSettings {
  address: string;
  username: string;
  password: string;
}

export interface Snippet {
  file: string;
  text: string;
}

export type Pbx = 'asterisk' | 'freeswitch' | 'kamailio' | 'threecx' | 'generic';
export type ProofTool = 'sipsak' | 'asterisk' | 'freeswitch' | 'other';

/** Host and port of a SIP address; the port is 5060 unless the address names another. */
export function hostAndPort(address: string): { host: string; port: string } {
  const found = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(address);
  return { host: found?.[1] ?? address, port: found?.[2] ?? '5060' };
}

/** A name for sections and files: letters, digits and hyphens. */
export function sectionName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return `trunkline${plain ? `-${plain}` : ''}`.slice(0, 40);
}

export function pbxSnippet(pbx: Pbx, trunk: TrunkSettings): Snippet {
  return pbxSnippets[pbx](trunk, sectionName(trunk.name), hostAndPort(trunk.address));
}

export function proofSnippet(tool: ProofTool, proof: ProofSettings): Snippet {
  return proofSnippets[tool](proof, hostAndPort(proof.address));
}

type Target = ReturnType<typeof hostAndPort>;

const pbxSnippets: Record<Pbx, (trunk: TrunkSettings, name: string, target: Target) => Snippet> = {
  asterisk: (trunk, name, { host, port }) => ({
    file: '/etc/asterisk/pjsip.conf',
    text: `[${name}]
type=endpoint
context=from-${name}
disallow=all
allow=alaw,ulaw
aors=${name}
direct_media=no
trust_id_inbound=yes

[${name}]
type=aor
contact=sip:${host}:${port}
qualify_frequency=60

; Calls to your numbers come from here.
[${name}]
type=identify
endpoint=${name}
match=${host}

; In extensions.conf, calls to the network (E.164 with or without a plus):
;   exten => _X.,1,Dial(PJSIP/\${EXTEN}@${name})
; and calls to your numbers:
;   [from-${name}]
;   exten => _[+0-9].,1,Dial(PJSIP/YOUR_EXTENSION)
; Limit the calls of the trunk to ${trunk.channels} with GROUP_COUNT().`,
  }),

  freeswitch: (_, name, { host, port }) => ({
    file: `/etc/freeswitch/sip_profiles/external/${name}.xml`,
    text: `<include>
  <gateway name="${name}">
    <param name="proxy" value="${host}:${port}"/>
    <param name="realm" value="${host}"/>
    <param name="register" value="false"/>
    <param name="username" value="not-used"/>
    <param name="password" value="not-used"/>
    <param name="caller-id-in-from" value="true"/>
    <param name="ping" value="60"/>
  </gateway>
</include>

<!-- In the dialplan:
<extension name="${name}">
  <condition field="destination_number" expression="^\\+?([1-9][0-9]{6,14})$">
    <action application="set" data="absolute_codec_string=PCMA,PCMU"/>
    <action application="bridge" data="sofia/gateway/${name}/+$1"/>
  </condition>
</extension>
Calls to your numbers arrive in the context of the external profile. -->`,
  }),

  kamailio: (_, name, { host, port }) => ({
    file: '/etc/kamailio/dispatcher.list, /etc/kamailio/kamailio.cfg',
    text: `# dispatcher.list
1 sip:${host}:${port};transport=udp 0 0 socket=udp:YOUR_PUBLIC_ADDRESS:5060

# kamailio.cfg
loadmodule "dispatcher.so"
modparam("dispatcher", "list_file", "/etc/kamailio/dispatcher.list")
modparam("dispatcher", "ds_ping_interval", 60)
modparam("dispatcher", "ds_probing_mode", 1)

route[${name.toUpperCase().replaceAll('-', '_')}] {
    # The topmost Record-Route must name an address of the trunk's networks.
    record_route();
    if (!ds_select_dst("1", "4")) {
        send_reply("503", "No trunk");
        exit;
    }
    t_relay();
    exit;
}

# Calls to your numbers come from the same addresses:
#   if (ds_is_from_list("1")) { route(TO_PBX); }`,
  }),

  threecx: (trunk, _, { host, port }) => ({
    file: '3CX: Voice & Chat, Add trunk, Generic SIP trunk (IP based)',
    text: `Registrar/Server:            ${host}
Port:                        ${port}
Outbound proxy:              (empty)
Transport:                   UDP
Type of authentication:      Do not require (IP based)
Number of simultaneous calls: ${trunk.channels}
Main trunk number:           YOUR_NUMBER in E.164, such as +31201234567
Codec priority:              G.711 A-law, G.711 µ-law
Outbound rule, prepend:      +
Outbound parameters:         From: User Part = OutboundCallerId
Inbound parameters:          Request-URI: User Part = CalledNumber`,
  }),

  generic: (trunk, _, { host, port }) => ({
    file: 'the SIP trunk of your PBX',
    text: `Server (proxy, registrar):   ${host}
Port:                        ${port}
Transport:                   UDP or TCP
Registration:                off
User name and password:      none; calls are authorized by IP address
Concurrent calls:            at most ${trunk.channels}
Called number:               E.164 with or without a plus
Caller number:               E.164 in the From header
Codecs:                      G.711 A-law (PCMA), G.711 µ-law (PCMU)
DTMF:                        RFC 4733
Keepalive:                   OPTIONS every 60 seconds`,
  }),
};

const proofSnippets: Record<ProofTool, (proof: ProofSettings, target: Target) => Snippet> = {
  sipsak: ({ username, password }, { host, port }) => ({
    file: 'a shell',
    text: `sipsak -vv -s sip:verify@${host}:${port} \\
  --auth-username=${username} \\
  --password=${password}`,
  }),

  asterisk: ({ username, password }, { host, port }) => ({
    file: '/etc/asterisk/pjsip.conf',
    text: `[trunkline-proof]
type=auth
auth_type=userpass
username=${username}
password=${password}

[trunkline-proof]
type=aor
contact=sip:verify@${host}:${port}
qualify_frequency=60
authenticate_qualify=yes

[trunkline-proof]
type=endpoint
aors=trunkline-proof
outbound_auth=trunkline-proof
disallow=all
allow=alaw`,
  }),

  freeswitch: ({ username, password }, { host, port }) => ({
    file: '/etc/freeswitch/sip_profiles/external/trunkline-proof.xml',
    text: `<include>
  <gateway name="trunkline-proof">
    <param name="proxy" value="${host}:${port}"/>
    <param name="register" value="false"/>
    <param name="username" value="${username}"/>
    <param name="password" value="${password}"/>
  </gateway>
</include>

originate sofia/gateway/trunkline-proof/verify &park()`,
  }),

  other: ({ username, password }, { host, port }) => ({
    file: 'the SIP provider settings of your PBX',
    text: `Server:              ${host}
Port:                ${port}
Registration:        off
Authentication name: ${username}
Password:            ${password}
Number to call:      verify`,
  }),
};

/** Whether one request proves all of a network: an IPv4 address, or an IPv6 network of /64 or smaller. */
export function isProvable(cidr: string): boolean {
  const [address = '', length] = cidr.split('/');
  const isV6 = address.includes(':');
  return Number(length ?? (isV6 ? 128 : 32)) >= (isV6 ? 64 : 32);
}
