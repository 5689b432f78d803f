-- A home of the version before, as 'sqlite3 .dump' gives it: on 19 November 2026 both lists got a digest; on the 20th
-- foundations got one that still waits for Renée and does not exist for Jun, the LLM was dead for galaxies, and Oscar was
-- suppressed. The papers are the demo's invented ones.
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'paperboy','m001_the_first_morning','2026-11-22 10:38:12.428741+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'paperboy','m002_what_the_operator_is_told','2026-11-22 10:38:12.429067+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'paperboy','m003_papers_that_cannot_be_scored','2026-11-22 10:38:12.429309+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'paperboy','m004_who_must_not_get_mail','2026-11-22 10:38:12.430732+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'paperboy','m005_what_calls_have_set_aside','2026-11-22 10:38:12.431028+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'paperboy','m006_what_the_operator_is_to_be_told','2026-11-22 10:38:12.432215+00:00');
INSERT INTO "_sqlite_migrations" VALUES(7,'paperboy','m007_what_grows','2026-11-22 10:38:12.434968+00:00');
INSERT INTO "_sqlite_migrations" VALUES(8,'paperboy','m008_when_a_trouble_began','2026-11-22 10:38:12.435328+00:00');
CREATE TABLE alerts (
    cause text primary key,
    since text not null,        -- when it was first met
    about text not null,        -- JSON: the lists that it still troubles; none: it goes when it is told
    told text,                  -- the operator's day on which it was last told
    noted text not null,        -- when what is to be told was found
    alert text                  -- JSON; null: nothing is to be told
) strict, without rowid
;
INSERT INTO "alerts" VALUES('scoring','2026-11-20T07:00:00+00:00','["galaxies"]','2026-11-20','2026-11-20T07:00:00+00:00',NULL);
CREATE TABLE days (
    list text not null,
    date text not null,         -- local
    outcome text not null,
    reason text not null,       -- for people; empty where the outcome says it all
    digest_id integer references digests (id),
    model text not null,
    considered integer not null,
    carried_over integer not null,
    let_go integer not null,
    author_matches integer not null,
    selected integer not null,
    over_cap integer not null,
    below integer not null,
    at text not null,
    primary key (list, date)
) strict;
INSERT INTO "days" VALUES('foundations','2026-11-19','digest','',1,'gpt-6-luna',7,0,0,2,4,0,1,'2026-11-19T07:00:00+00:00');
INSERT INTO "days" VALUES('galaxies','2026-11-19','digest','',2,'gpt-6-luna',2,0,0,0,1,0,1,'2026-11-19T07:00:00+00:00');
INSERT INTO "days" VALUES('foundations','2026-11-20','digest','',3,'gpt-6-luna',5,0,0,0,2,0,3,'2026-11-20T07:00:00+00:00');
CREATE TABLE deliveries (
    id integer primary key,
    digest_id integer not null references digests (id),
    address text not null,
    name text not null,
    state text not null,
    message_id text not null,
    token text not null,
    attempts integer not null default 0,
    uncertain integer not null default 0,   -- how often the connection was lost after the final dot
    try_at text,                -- not before; null: at once
    reply text not null default '',
    via text not null default '',           -- smtp or outbox, once it is sent
    at text not null, bounce integer not null default 0, again text, given_up integer not null default 0,
    unique (digest_id, address)
) strict;
INSERT INTO "deliveries" VALUES(1,1,'ada@example.org','','sent','<20261119.foundations.c0c8cfa55a5637f4e52f3fa5@example.org>','7a391fb4b5ea53da2c0685a422971f28',1,0,NULL,'250 2.0.0 taken as 1','smtp','2026-11-19T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(2,1,'renee@example.org','Renée Amsel','sent','<20261119.foundations.de0af25253332578a154532a@example.org>','c844ec4c998db5aceeefadd22a9af14b',1,0,NULL,'250 2.0.0 taken as 2','smtp','2026-11-19T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(3,1,'jun@example.org','','sent','<20261119.foundations.492c9f4888bf773e2fe25d7e@example.org>','9d3fa6179f166c51c08e33c99c9d1b96',1,0,NULL,'250 2.0.0 taken as 3','smtp','2026-11-19T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(4,2,'ada@example.org','','sent','<20261119.galaxies.776c1f18ba63ed188558dcc8@example.org>','96776241fcd36f1358a3cd431fb69984',1,0,NULL,'250 2.0.0 taken as 4','smtp','2026-11-19T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(5,2,'oscar@example.org','','sent','<20261119.galaxies.c4cb78ebda4f60862aa8f9ca@example.org>','6c3e1fa2db5052fff9cf0896489d13e1',1,0,NULL,'250 2.0.0 taken as 5','smtp','2026-11-19T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(6,3,'ada@example.org','','sent','<20261120.foundations.e6b01e6f877bd581099d1a62@example.org>','7a391fb4b5ea53da2c0685a422971f28',1,0,NULL,'250 2.0.0 taken as 6','smtp','2026-11-20T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(7,3,'renee@example.org','Renée Amsel','deferred','<20261120.foundations.9ee74a3b1d69d63ab46f0f11@example.org>','c844ec4c998db5aceeefadd22a9af14b',1,0,'2026-11-20T07:04:33+00:00','RCPT: 450 4.2.1 try later','smtp','2026-11-20T07:00:00+00:00',0,NULL,0);
INSERT INTO "deliveries" VALUES(8,3,'jun@example.org','','failed','<20261120.foundations.e79a9bb1827bccd4d05f16b3@example.org>','9d3fa6179f166c51c08e33c99c9d1b96',1,0,NULL,'RCPT: 550 5.1.1 no such user','smtp','2026-11-20T07:00:00+00:00',1,NULL,0);
CREATE TABLE digests (
    id integer primary key,
    list text not null,
    date text not null,
    subject text not null,
    sender text not null,       -- of the envelope
    message blob not null,      -- the mail's shared bytes, compressed; see days.py
    at text not null, superseded text, tell text,
    unique (list, date)
) strict;
INSERT INTO "digests" VALUES(1,'foundations','2026-11-19','foundations, 19 Nov: 6 papers · Counting hedgehogs at night','papers@example.org',X'FD377A585A000004E6D6B446020021010E00000004504836E0112506765D00231C89E6F7D7B5C3F1CDEF1DFB13DDD17F07C6340D054B60BDC29C6EDBFB056955312564B78968698A9A5B3D9C14740CAEB1B76A0E9C43419FDC790CA715036C033C48885EB08DE0854BB87CE80C3F1C588BD7ADE0060C572D64F97286AD92699817FF26BC6718218B25B58EB4042B1A6661B72ADCA3C9A1CEB36AA2FB1278C571622C1E6222C422F4F31F8F92D79E5B8CAAB1878DC1315F2F3A8F4E443F984EAE492A95F3E799348967B2AA92982A96898FFFBBBE224150E3D0312D200785C5C36481CA59879AEAEE253FD0B4A3608903C459A983184E6A479530B55F05C55F692E4DA2F69E2AE14EB49CB2B8CC14E11EC8069DCBAE11DD346B481779A613975D6A15FED4B7B515E9573D591FA0F25BDE742B646F9B99DE6241ABD5E7BC8BC75C1C4F80C58ECBE7690D9A36730C89A96DCFD3DF7B89112A804814F13044BDF3EC0325DED0B8671930AEFD41079A1043106EF0628A82D53E69F6DA0EFFFEFE2DE0D84EAF781F2D337EC9651932B96967B857CB7B192C025A34A24D5655BA429E8DB0D591EED8D1A239D4FA9860ACCF676285742676F404EE4CD391BB8F0B8A8C8107210C97A70B1DE357615ED6DADFB30E7CAC10F1A9086280AA4B413B7E9EAA67DCCD4A1D30C4C825591EE7F43EDDB8603963FA8B389FB378D7855EA7121A4BE48450C27823900F55C897C4DBBA97C9AD8CF95D4F76A289A0E319D3D88060DA8004B95F9DBBBAF4CC8FB84AD17BB413AD58A48B1061E321C93156E41C1AB4779E2F4697214F3DE98D1AF019E88C13CA7A69980815685B3A638ED653E57C479E3ECE264972B63E14138BB1A090046A4411B66F964F9A4289BAD5C119CAD181CA23009A9EF7AB0F4B4C2DE484964B120EC6384C0286D75EA57500A230A6A9EDC8A086865AEDE10243C1199EA4E1070089C99E333658D5E585FB84A0FB56B40EEA2C92F85603926F79CB22F8130D31E67B280F76B85B341D6EB9339195285D8B1EB3E2CAD7B404709D0AC7175591AACD62856A70DCE0D9729838297A4F94C27216BAB28F37B4B12FE9D9623F39DAA745BD843BCD31EF90BDC8D3FB5F264FC73FBB757763A9CDEE2079F22CDCEE38C860AB78C8137F1582CBACDBE68461F8872EEDCF4897EB9DC2F9115B8AF2043E33B27F0C9A393ED30BFA37B433CA642C08F005364798270700B618CE4009D930744E833A6452A1D52555238E62E425D9684EAFA1C35665302B9E8B64AE0052769CD18E0E8B5CB79A279ECAEB1C29D4A2A5CF15B65924F5E741D21297D6E4091D63164496C0D7C0D941AC582552579A572DF6DB5FF99C405E179D9BD43499C53A1AE8C48B4408043CCEB7C1E87F504F666CABAB677DF9BB4D504E1D3469E688FFF5A5C3044BA361326CE90A8B4785248D991EB7C270FEDF80D6FDEDB75E2DF169446F5BD3A8746B22030B1226EE3A00E421092878B40FF109513011771495357CABCCA60E3FE7A8936D03589231B4CA47D3539E182DD6598F38A2EB69FA8ACA3E956F59F0E0F85C712B2778D6760EAA6A70F1FFEB93A38310A47ECCD8848673CB71EF7C1024C57A3533882D4B87CA41ED97630CD0B433EAB962149EDC6ED3967976A2FE2950391AF7D69DEE0B46AD8431F9DDFF14AA31A78D23189960F0CDE97FB541CFA7899833DA4FBE3B51AC120F64A823D4B339BBD42F393EF9A49E5E9F58E6FE9670DAF9F3BA6809813E0371B948615FC8533E49A4AB6A107EFC975FB7EA85422BE452691884FCF61455301EDC0E9BBDA104CA5E78F1C50B189F0069F9EFDA2A364F7F99ACC34C1638EA52D69A78E224D6FF43ED1316F90E40CB87C12AEAB5DFDA41AEDBAAED45F42F103CE9DAB23C95B3347EB281498D01DEAF02061440C66EA2B7FB6D8AB544F7F0C721421342862399127FE6C332201F08BBFDAFFF5A2772A27B3432FFBA9122A17BF0E208EC8964AF79216BCAEE5D218FE0B60AD5B0229A0A83CEDE39CF0E8DB475E2896D956238C46BD4CE40F522215737392A4D749EBCF27C80E649512384D03DBFD2F43B51BFF039AF6508FD81145DBD784014C1B7F7C637C9176B35F09463C05B446BFBF3A272BEB6F9FC6C9FC9264E9BBC80B9048485CB7BE1995498001C7A79542DEAE06ED96DB0D0324CDF365723AC9816D9F7807D740963308E09CD940CBD7B39F82163D172A59E47CFA4B6DA07BE81BC6E4BD6CC1BFF2F4EFF1349DD12ACC54C978BCE90C18E2181AD48F55C4C6F12E19564668ACE13AB7248215033AE586FC7144CEA4C37E9D958B064D3800DD8B480804C0F0C8C752B987112F3F371449CC8F8FA4100D9F6759B83FB18AEA407139011A77F0D57F6196A1E00000000A7E43B83A24D18F50001920DA62200007373A238B1C467FB020000000004595A','2026-11-19T07:00:00+00:00',NULL,NULL);
INSERT INTO "digests" VALUES(2,'galaxies','2026-11-19','galaxies, 19 Nov: 1 paper','papers@example.org',X'FD377A585A000004E6D6B446020021010E00000004504836E00F9006495D00231C89E6F7D7B5C3F1CDEF1DFB13DDD17F07C6340D054B60BDC29C6EDBFB056955312564B7D457947368F69F061BEA62F646067E4564E1DD4AA19EDB224AE276B40079EE09AEA25A46A60FB2332EBA6AB95E12DEE0EE37F1BF522A1B16089DAD372479C33D51F32A3E455158BE00195DD4E72C59E40D428DC60D89A5DE79B018A1E0962CC5C8C77486C9CA948C798AD8061BB45FC3C64466CB088B18D82F32B48DA169AEA34C69503D57C48AA223234BFD4AF7EC5C12C8DD9F3A453182D2B095E9A17FAC20E3E7F3D4ECB6E3D7D14DF9BBA23594F8A774A120E630527C1B9BBD50E05856DA2B46EF2EE80835DA5656DAAA7D08B4CB30D0E20B90B64317D83C557F90C2658A4CB98BBD12DE38B926B42E97EBF7E0742020D41F4449C5D2E00EEBB6105E14769B93305F909B8B971B1B4B764182831FC4CCAE4E02B8A7F6187AAF86E6E95D1E49E3EDA64163AE54EFA6EDBE261FDB3C08E96B40F05745B62046153E075640C28CEC6E55C42136C398006F5C5D120EA532B0BC66DC4EDA0936CC2E18C3BA3F00F4B36A7652D46079A8192EFC168A8DC4B81FDBAC77840AADEEE45FBC0A0EF87D119668FCBB8A2BA68C6E3856ABAEB4AE6F39B7F61444B8E2B9ED326AFC95EFB28146F7E603D55711E5594280D6E5527B8FDACADEB5B31FCA86E9E3190539C4B09647705DE19A94B60CE4F6072CAE6AB1D47C1B676D757EDBAB0E4C321BEA98E8FD98AF3B6A61D2A55100C7DBB07C18AB62F1416F288271E783FABE558EFEF765613510FF96D1BE50EB347E85C8598C0CCF22876D906814D24BCE1250D5004AE4EC9187815B8B4398E727DE152E1B8A25F6B46AB8517F63FAE444E3E84FC1A110C0E0148BF007FE619FD4AC0A2C1036359390892956185817AAA9FBFD8AE578169D145CFB48649620A87BF924EC9898BFF8A735FFF1E69B3064FAAA789B95EB343814D27894D9F8E2049E2E22104FC8A60FDAF9C733CE424DE33A182405E8E62BB7D7D65B544CFAFA47E8E0B4D794970A441AA2E6FC56685886D7FE9DEA5A9144D7AE98770DA4D1C8DF29048836F9EEBBC8ADCB60BF40A7DC59A6C1713CBB3244C8A2DE62A0EAC9FE8EB703AD46A928F507D96DD82EF69DFD92201B001274A6F617161266D857ECDDBCC01B31F5EF8A41341712359D4202E4F19A1C1A869DE448A6FE0D886598809367E5E1FDF4F56B299281B0A756E6FE6F9306949AB281025AE97224D0963A156FCA2E419696D8649DD39CF48FF24D903E22EB398CE4DEE6D1C108B8036DB71CC9F6D7D12936F93E6125DBF325733D79E87DE648D2AE7374AA1F158369D64AA21A35ABE96513A358EA8A3E74BF7E2F0EC7D38E5A0FB2E1070DCA75E1C6FA6EF61CC77DAC04F1BFDABDE5BF3126CFFD4BB143052FFE75968FA66580D90B19353CE5EB679BF29863CF132073EE5D4584D958103510A75B47FA5D02DAA6773FD21BF5D782AC66FDDF83FB13A97D6419A463B57A2FB7CB83E43634FAEFF01F5255D47446651E555419CC69F61456EE773815D8AF9B8ECDE1CF073B065DC54971F4DA7BB77D96B539D280C529DF0A68488E92E0D321EBB9EC16BC122B9102C6AE7EA3574A38D4A5BCCA48BF1C1B7731ADA5678D5F54D62D0419BB0D84E326B18374D6617183B9F98BCE24AE660E183797B937D2BB498EE03F93C52EFAF688404F44F4041BF40568FD0C9C2F1D54B6000C9A72366549444D15C350E1B13F855C06CF1CF0EB81933DA3E30734419CB9A0C5629AB8146D8A1EC23FC863121DC0616CF842351E9AFDF127EBA4C266E6B4F9F106A2E96F2DF8F3BB712A55FFEFA1E6FAE53DA6169505A254160B394E86BA652CC5AE1E63A2579C9B7404AF935AD84F553CC461F41028D37DF5EC6C691F1A6F253D0D84B2CCE437030E11C20E75CC7623A6620E8BF866463BFCCAC6EEBC47FE2A17E56DBFBD48C0E27FD89603E9F3710B958C5A3C1811F690B97587B4D6E9036061C396EDFBDFE44956DA96EB915833E0423BE7E915733151E3B142B82B3E91DE64573D9A042F031CE9645BC5B69834CCC91714B05F28F3E0D8B66BEC4D66FEABACB809551D57991842F1B8E1A323CA7B53C8FB4D4B93E7AC0F2F44607FD2893C2EC7A64A428AA9F67356AE4CC23BE3558FF0FAD54612C7D00AE00859E495FDB96F379DB361DD74D21DB7B811769D53D0756583F0BE842AFCF4F784775EED6E0EEE3C292BE052F6FAF06D9A3B53606F640124D24854C8CD535109014AF7246C4336FAC028F5CB7A5E456A9DD564E000000000004F0F3E7BA38A04D20001E50C911F000061D1AA52B1C467FB020000000004595A','2026-11-19T07:00:00+00:00',NULL,NULL);
INSERT INTO "digests" VALUES(3,'foundations','2026-11-20','foundations, 20 Nov: 2 papers','papers@example.org',X'FD377A585A000004E6D6B446020021010E00000004504836E00FE406495D00231C89E6F7D7B5C3F1CDEF1DFB13DDD17F07C6340D054B60BDC29C6EDBFB056955312564B78968698A9A5B3D9C14740CAFB55E4AAC729C5C9780FDD5744F32B1D26F13CEF2F146C6893794F2B82133A38D80E31F79AE9BCF45F0DF68D3B354F50C7DC417286F1F60637839A3FC3E85967CE809A6672041A4456C599AE6FF1F33F7B437D65920220FD24AE6B8080AD9D081158C629C6C8F3165B14522F4B59363704CE0378ADC367AB304131E0A7D791643A75BC11CB3B8F0B4805F922CF6F75685CD60703EEB7570F808819C2EA58191370CE0F1B96EB55AD523B6FAF15602A1CC110B268065ABD0D666DC2577D50E402C1FFB472AA89EFCF5F5A22B78CCD120C4AFAAAC6A18BA431796FE0B919E9E4E996187DDCFDE706C6925661B4185423C18B6A00DC6E33AF62657EC7229F382B6E416A2BA7A59894E4145C6C397631D74441E79EA9ED139E1F3B5C284EA35DA8175BC0382DE307629D8EF5041F80E2A4AA66EE49B39D84F30FAF33C073BB6EEE3B81AF0D1E88723564ED55D4B29824E7D10C235B3D166C59424173B74A00CA975BFC30E05DEBC4383A5307E1F33AA59803B1509443EA792EC0B8BE9D64DDD7691ECEF358F686F5015E3B22E488F68713873D6255C7881802908585C0163856DA29015A6EBA55FA309B9725723870678F707F27D21EAF8DD77B436434D398433D5D37DA86AA5BD9455CC32B2D986AD44DC264C633D2C2847C36C015034468D7069C9AFFE938674D1205ED54D573AAFEDA3A6E963611EEA8A2C3894BD1FA59546CCE7AD6854ABDB9AFB574BBDBF1C3339C5075119ACCCA4015089BA5E7629111ACFE21F9FEE0E4C7DB7FA7CAE0DEFD2AD86D7AE4B382316AD762D7EA8DFDB8144238F5C3D4B4352506E0BC96AE606CF047A67EC61FDEED06C7820D0D01FED57706B8195393EA16D8AC1FD8BBD6813D3D98CD994E9B6165CCFDA2AB783645D84B6192EAAA39C2C60E02B5FCF69BF0952FD7F4F128FD0CA492C748249E180F59A716081FF4300C69703B9BCA5FE8199E2A6BC0A1B9EE6CFE390819C0B50C1A11CDE0A8C9B0F7AE16A35FF192201279E95B9FF2A7539698CB02A8C56D041F45205DFE340A203BEC7B3C0B6B24E56EAFBD203DCEF23D2391AF4BC60298E00469F1ACDD7DA1B545CCD01E88A55B5E92734B4C450A7D34586D8C27B0AD58CA32094A7A91D96F22BE4848AA4A1A8CBA9ABC7145BF44CAEC5CEA1EE06CE496BFCB1A18186C079557F8B62C2D49CC9206856917DE1FB5136E7EDC6933BDFF3B4238C0D6E4444DD6B2C2FBE8EEED63E337CB3CACC7088D07EDDC5D798C4F7974337B17085D555647B002290FC15B44FF217F869BDA182C2DA9F0ED5F7BEA41D8A1F61036F2B2672DBFDF9AE6D8250328CCE1067D21399D8964189492214766B4549CF4B0E1D8E9779C5EAA2C886650539255E63E07F92189B088B983FE71613CBF5D2D26FBB35A24514887FA27C9DD7921C178D325A49D27CAF23E9205056127DB80F12C0E4950722DCE05D7CC7CD9AAE0265C0878909D0F8E0726279699A985DC2E00A9959F22219F36C94B4D5941E3A99BAF290D332D75181B5EA6BDE0B2D74C3924184BA01AB806D63DB702BC871790EA9033B7F6860DED10BD4127DC37B6903E91DA601C2BAAEB0E44F7591D40BD9CC5E0C59051916D6B30007AE4D1F29EF545481201F77384AAEBFF03C9FFED922E7642D1B2F586352ECE21106B7511E3E53BB69702C2A81F9835BA9311D3A02A0530F252ED349478B0F238CE847480729EB769E2392F3F1C7471C5B6D9059353B75ABA481EB8408796F262FBFF28CBC65D4CE653961809F5D06F81F14370CE6FFD03DAAEE7DA5090577B808E639A9E85251F2D88AE8204EF0ED3FDD68BB8B68D1FA5DD2F61B9731EE454D2A63B0D8E76AE14F1A552DC4DE1DFDFD93ED3FD3AC96783A813A61230D72CEF0C5DC280905D4A28AE2EC0A130256E465FA404E1C741FBBA5F263EFD29AB2FC9498735F07C383478C9FF9C271F7018DFD258F4D277E116B24814082C44349E8C2447BB33AFE407040A0B7E705E2B090CA3544312C3D50AA0F41B398BD6046435BD371F583A64A85B16395F28D3079789E1C8A4825BF023A1F512B1735AB3D1FA43DD0001169C44A67AF929FD94B640C99A88A658D790E3E6BF77829147D4C1C0AA7742EDBE46A16080012A4DC0724C91E7146B28880C368E6DE86A2E93E1D0186A600C78B79FFAA2BB48A3222507DC1C7E08B3859889B20D481BAA9C18D6592DF0B2C434000000000007D157CBA9193856C0001E50CE51F0000AAE6F7B6B1C467FB020000000004595A','2026-11-20T07:00:00+00:00',NULL,NULL);
CREATE TABLE fetches (
    category text primary key,
    fetched_at text not null    -- the last time that all its papers came whole
) strict, without rowid;
INSERT INTO "fetches" VALUES('astro-ph.GA','2026-11-20T07:00:00+00:00');
INSERT INTO "fetches" VALUES('cs.LG','2026-11-20T07:00:00+00:00');
INSERT INTO "fetches" VALUES('stat.ML','2026-11-20T07:00:00+00:00');
CREATE TABLE holds (id integer primary key, at text not null, dollars real not null) strict;
CREATE TABLE "paper_categories" (
    category text not null,
    arxiv_id text not null,
    primary key (category, arxiv_id)
) strict, without rowid;
INSERT INTO "paper_categories" VALUES('astro-ph.CO','2611.90002');
INSERT INTO "paper_categories" VALUES('astro-ph.CO','2611.90007');
INSERT INTO "paper_categories" VALUES('astro-ph.GA','2611.90002');
INSERT INTO "paper_categories" VALUES('astro-ph.GA','2611.90041');
INSERT INTO "paper_categories" VALUES('astro-ph.GA','2611.90054');
INSERT INTO "paper_categories" VALUES('astro-ph.GA','2611.90056');
INSERT INTO "paper_categories" VALUES('astro-ph.HE','2611.90054');
INSERT INTO "paper_categories" VALUES('astro-ph.IM','2611.90007');
INSERT INTO "paper_categories" VALUES('cs.AI','2611.90043');
INSERT INTO "paper_categories" VALUES('cs.CL','2611.90044');
INSERT INTO "paper_categories" VALUES('cs.CL','2611.90051');
INSERT INTO "paper_categories" VALUES('cs.DC','2611.90003');
INSERT INTO "paper_categories" VALUES('cs.HC','2611.90051');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90001');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90003');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90005');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90007');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90042');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90043');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90044');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90046');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90051');
INSERT INTO "paper_categories" VALUES('cs.LG','2611.90052');
INSERT INTO "paper_categories" VALUES('cs.SD','2611.90052');
INSERT INTO "paper_categories" VALUES('eess.AS','2611.90052');
INSERT INTO "paper_categories" VALUES('math.OC','2611.90046');
INSERT INTO "paper_categories" VALUES('math.ST','2611.90008');
INSERT INTO "paper_categories" VALUES('physics.ao-ph','2611.90053');
INSERT INTO "paper_categories" VALUES('stat.AP','2611.90053');
INSERT INTO "paper_categories" VALUES('stat.ME','2611.90005');
INSERT INTO "paper_categories" VALUES('stat.ML','2611.90005');
INSERT INTO "paper_categories" VALUES('stat.ML','2611.90008');
INSERT INTO "paper_categories" VALUES('stat.ML','2611.90042');
INSERT INTO "paper_categories" VALUES('stat.ML','2611.90046');
INSERT INTO "paper_categories" VALUES('stat.ML','2611.90053');
INSERT INTO "paper_categories" VALUES('stat.TH','2611.90008');
CREATE TABLE papers (
    arxiv_id text primary key,
    version integer not null,
    title text not null,
    authors text not null,      -- JSON
    abstract text not null,
    primary_category text not null,
    categories text not null,   -- JSON, in arXiv's order
    published text not null,
    updated text not null,
    comment text not null,
    doi text not null,
    fetched_at text not null    -- when it was first seen here
) strict;
INSERT INTO "papers" VALUES('2611.90001',1,'Contrastive learning on graphs: a survey of what is actually contrasted','["Haruka Lindqvist-Mori", "Emeka Chukwuma", "Sabina Rahimli-Noé"]','Contrastive learning on graphs has grown to several hundred methods which differ in augmentations, encoders, and objectives. This survey sorts 212 of them by a single question: what is contrasted with what? Nodes with nodes, nodes with subgraphs, graphs with graphs, views with prototypes, and hybrids. For every class we summarise typical augmentations, list implementations, and re-run one representative on six common data sets under one protocol. With tuned weight decay, the differences among classes are within one standard deviation on four of six. On the remaining two, which are molecular, contrasting views with prototypes is better by about two points, at the cost of an additional hyperparameter. We further find that 61 of the papers tune on the test set, judging by their code, and that augmentations which drop edges help only where edges are noisy to begin with. Open questions concern directed graphs, graphs that change, and theory, where a gap remains between what is proved about alignment and what is computed. We maintain the list of methods on-line and invite corrections.','cs.LG','["cs.LG"]','2026-11-17T20:06:00+00:00','2026-11-17T20:06:00+00:00','52 pages, 9 tables','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90002',1,'Planes of satellites are common, thin ones are short-lived','["Osagie Lundgren", "Hanneke Brouwershaven", "Tupaq Mamani-Reiss", "Elif Nur Aydoğdu"]','Planes of satellites around the Milky Way and other hosts have been called a small-scale crisis of cold dark matter. Using orbits of 9,300 satellites in 212 simulated haloes of Local Group mass, sampled every 25 Myr, we find that a plane as thin as the Milky Way''s exists around one host in 40 at any time and around one in three at some time since $z = 0.5$. Thin planes live 0.4 Gyr in the median, and most are made by the infall of a pair of dwarf galaxies or of a massive satellite with its companions. Planes in which more than 80\% of satellites co-rotate are rarer by a factor 12, but live for 3 Gyr. Self-interacting dark matter and baryons change these numbers by less than 15\%. The test that matters is therefore not thinness but age: orbital poles measured to $3^\circ$ for the satellites of five hosts, which is feasible with present telescopes, would distinguish between chance and a common origin of dwarf satellites. Our sample of haloes includes pairs like the Milky Way and its neighbour; planes are no more frequent in them. Numerical disruption of satellites, which thins out planes artificially near the host, affects 7\% of our orbits and is corrected with a semi-analytic model of orphans. All orbits are public in a format that can be viewed in a browser.','astro-ph.GA','["astro-ph.GA", "astro-ph.CO"]','2026-11-17T20:15:00+00:00','2026-11-17T20:15:00+00:00','13 pages, 8 figures, 1 movie','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90003',1,'Federated detection of bearing faults: notes from an R&D consortium of nine plants','["Joost Verhaeghe-Ito", "Mbali Khumaleni", "Rasmus Höglund", "Ana Lucía Tejedor"]','Nine plants that compete with one another wished to share what their vibration sensors know about failing bearings, but not the data. We report on eighteen months of federated learning among them. Averaging worked; most effort went into clocks, firewalls and units (two plants logged "g" that was m/s$^2$). The shared model detects 91\% of faults at one false alarm a month and machine, against 84\% for each plant alone; the smallest plant gains most, the largest nothing. Secure aggregation cost 9\% in run time. After the end of funding, five of nine plants go on. We conclude with a checklist for R&D managers. Among its items: write down units before anything else, agree on what a fault is (we had six definitions), let each plant leave at any time with the current model, and pay for the person who restarts things at night. We do not know whether the shared model reveals anything about production volumes; an attack by one of the partners failed, which is weak evidence.','cs.LG','["cs.LG", "cs.DC"]','2026-11-17T20:17:24+00:00','2026-11-17T20:17:24+00:00','6 pages, experience report','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90041',1,'The circumgalactic medium of dwarf galaxies holds more metals than their stars','["Adaeze Rönnberg", "Farkhad Saidbekov", "Imogen Castellanos-Pugh"]','We measure absorption by C\,{\sc iv}, Si\,{\sc iv} and O\,{\sc vi} in the surroundings of 61 dwarf galaxies at $z < 0.3$, using background quasars at 10--150 kpc. O\,{\sc vi} is found in 54\% of sight lines within half a virial radius, and in none beyond 1.1. The circumgalactic medium contains $10^{5.9 \pm 0.2}\,M_\odot$ of oxygen for a typical stellar mass of $10^{8.2}\,M_\odot$, about 1.7 times as much as stars and interstellar gas together. Dwarfs with neighbours within 200 kpc have half the covering fraction; stripping is the likely reason. Velocities stay below escape speed for 88\% of components: most of the metals will return. We compare with four simulations, of which those with cosmic-ray driven winds come closest. The sample was selected from a survey of galaxies without regard to star formation. Quenched dwarf galaxies, 11 of 61, show the same amount of O\,{\sc vi} as star-forming ones, but no C\,{\sc iv} at all. If dwarfs are typical of their kind, their haloes hold 5--8\% of all metals in the present Universe. The largest uncertainty, a factor of two, comes from ionisation, and half of it could be removed by observing Ne\,{\sc viii} at $z > 0.4$.','astro-ph.GA','["astro-ph.GA"]','2026-11-18T12:09:00+00:00','2026-11-18T12:09:00+00:00','15 pages, 9 figures','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90042',1,'Scaling laws when the data repeat: a solvable theory','["Ewelina Prószyńska", "Matteo da Rin", "Folasade Iyiola", "Rūta Žemaitytė", "Abhiram Vasanthan"]','Scaling laws tell how the loss of a network falls with parameters, data and compute, as long as data are fresh. We derive what happens when they repeat. In a linear student-teacher model with power-law covariance, trained by stochastic gradient descent with several passes over the sample, the loss is the sum of four terms, one each for parameters, unique data, steps, and a new one, the \emph{memorisation term}, which grows with the number of passes $E$ as $E^{\beta - 1}$, where $\beta$ is the spectral exponent of the data. Where $\beta < 1$ repetition is free for ever; where $\beta > 1$ there is an optimal number of passes, which we give in closed form. Fitting $\beta$ from the spectrum of a network''s representations at initialisation, without training anything, predicts the measured optimum within a factor 1.4 on text, code, protein sequences and images. The theory also says how to mix two sources of which one is scarce: the scarce one should be repeated until the gradients of its memorisation term equal those of the abundant one''s parameter term, which, for a typical language corpus with 5\% of mathematics, is about eleven passes instead of the customary four. We test this with models of up to 2.8 billion parameters, and gain 0.021 nats. Two predictions failed. For models smaller than 40 million parameters the optimum lies below the predicted one by a factor of two, which we attribute to the finite width of their representations; and for mixtures of more than five sources the closed form is no longer unique. We give the code of the theory (200 lines), the spectra of 61 corpora, and a table from which the number of passes can be read without computing anything. We believe that the theory shifts the question from how many data there are to how quickly their spectrum decays, and discuss what this means for synthetic data, whose spectra decay faster than those of the text they imitate.','cs.LG','["cs.LG", "stat.ML"]','2026-11-18T13:54:00+00:00','2026-11-18T13:54:00+00:00','38 pages, 14 figures','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90043',1,'A complete circuit for carrying the one','["Beniamino Achterberg", "Nanami Etxebarria", "Wanjirũ Kamau-Holm"]','We describe every weight that matters when a three-layer transformer adds two numbers of up to twelve digits. The circuit has four parts: heads that align digits of equal place, neurons that compute the sum and its carry, a chain of attention heads that moves carries leftwards by doubling distances, and a readout. It consists of 1.9\% of the parameters and reproduces the full network''s answer on $99.98\%$ of ten million inputs; the rest are errors of the network, which the circuit makes too. Three findings go beyond the case. First, the features for "carry" and "digit nine" lie in superposition in one plane, and interference between them explains \emph{all} errors of the trained network. Second, networks trained from 40 seeds contain only two kinds of circuits, and which one emerges can be told from the representation after 4\% of training, before the loss falls. Third, a network of twice the depth learns the same circuit and leaves the additional layers nearly unused. We publish the weights, annotated by hand, as a test for methods which claim to find circuits automatically; of the five that we tried, none finds the doubling chain.','cs.LG','["cs.LG", "cs.AI"]','2026-11-18T14:00:00+00:00','2026-11-18T14:00:00+00:00','33 pages, 21 figures; annotated weights included','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90051',1,'What 3,000 apologies tell about large language models','["Perpetua Lindgren-Osei", "Gaurav Mistry-Ojala", "Tiiu Raudsepp"]','Language models apologise often. We collect 3,012 apologies from dialogues with eight models and annotate whether there was a fault, whether it is named, and whether it is repaired in the next turn. Models apologise for faults they did not commit in 38\% of the cases, and repair a fault they apologised for in 61\%. Longer apologies go with fewer repairs. Fine-tuning on 400 examples of repairs without apology improves the rate to 84\%, but annotators found the result "rude". The corpus has been released. Apologies differ between languages: in Estonian and Gujarati, models apologise half as often as in English and repair equally well, which suggests that the apology is learnt from style rather than from error. We discuss whether an apology without a fault is a harmless courtesy. In a study with 112 users it lowered the trust in correct answers by a tenth.','cs.CL','["cs.CL", "cs.HC", "cs.LG"]','2026-11-18T16:16:12+00:00','2026-11-18T16:16:12+00:00','9 pages, corpus online','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90052',1,'Counting hedgehogs at night: acoustic monitoring with forty labelled minutes','["Noémie Okonkwo-Lindahl", "Pádraig Skelly", "Vilma Arrasjõe"]','Hedgehogs are declining over much of Europe, and counting them is tedious: they are nocturnal, quiet, and shy of cameras. We adapt a pretrained audio network to detect their snuffling in recordings from inexpensive loggers in 118 gardens. With no more than forty labelled minutes the detector reaches an average precision of 0.74, and 0.81 after two rounds in which volunteers confirmed or rejected 500 clips each. Rain, cats and a particular brand of robotic lawn mower cause most of the false alarms. Monthly activity agrees with footprint tunnels in the same gardens (Spearman''s $\rho = 0.69$). Each logger costs 38 euros and runs for five weeks. We give recordings, labels and code to the community, and discuss what such counts can and cannot say about the size of a population. Compared with training from scratch on 4,000 labelled minutes, which took a student three weeks, the adapted network loses only two points. It does not transfer to shrews without new labels.','cs.LG','["cs.LG", "cs.SD", "eess.AS"]','2026-11-18T17:01:48+00:00','2026-11-18T17:01:48+00:00','12 pages, 5 figures 🦔','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90053',1,'Statistical post-processing of wind-gust forecasts: a survey and nine recommendations','["Gerlinde Pasternak", "Noémie Okonkwo-Lindahl", "Tsegaye Bekele-Roux", "Lourenço Abrantes"]','Ensembles of numerical weather forecasts are biased and too confident, and statistical post-processing has repaired them for two decades. For gusts, however, the literature is scattered over hydrology, wind energy, aviation and forestry. We review 147 studies that appeared between 2004 and 2026, from regression with truncated distributions to neural networks with station embeddings, and re-examine the claims of those 31 whose data are public. Under a common protocol the spread between methods shrinks by more than half; what remains is explained to a great part by how stations without nearby grid points are treated. Verification is uneven: fewer than one study in five reports calibration for gusts above 25 m/s, which is what most users care about. We close with nine recommendations, a template for reporting, and a list of open questions on extremes. For each of them we tell what would change our mind. The survey is accompanied by a table of all studies with data, code, verification measures and horizons, which we intend to update once a year.','stat.ML','["stat.ML", "physics.ao-ph", "stat.AP"]','2026-11-18T17:12:00+00:00','2026-11-18T17:12:00+00:00','46 pages, 7 tables; to be submitted','','2026-11-19T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90005',1,'Conformal prediction when predictions change the world','["Anneliese Kwarteng", "Radoslav Dimitrov-Okafor", "Siobhán Mac Ruairí"]','Conformal prediction gives statistical guarantees on uncertainty if past and future are exchangeable. They are not where predictions steer decisions that steer the data. We introduce a conformal procedure for such feedback: it holds the target coverage of $1 - \alpha$ up to a term that is bounded by the total variation between the stationary distribution and the one that the last retraining saw, which can be estimated from the data themselves. For a contraction with constant $\gamma < 1$ the loss of coverage is at most $\gamma^t/(1-\gamma)$ after $t$ rounds. No assumption on the model is needed; kernels, trees and networks are covered alike. In simulations of lending and of hospital triage the usual sets for a nominal coverage of 90\% cover 71\% and 78\%, ours 89\% and 91\%, with sets that are wider by a fifth. The method costs one additional quantile per round. For deployments in which the feedback is not a contraction, e.g., if users learn to game a threshold, we prove that no procedure can hold any coverage above one half without assumptions, and propose a monitor that raises an alarm when the estimated variation exceeds a budget. Code and the two simulators are released.','stat.ML','["stat.ML", "cs.LG", "stat.ME"]','2026-11-18T20:31:48+00:00','2026-11-18T20:31:48+00:00','18 pages','','2026-11-20T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90007',1,'Photometric redshifts that admit what they do not know','["Zsófia Adjei", "Ruben Lachowicz", "Cheng-Yu Fang-Doyle"]','Photometric redshifts from networks are overconfident for galaxies that are unlike the training sample. We combine a mixture-density network with a normalising flow of colours, and widen the predictive density by the distance to the training set in the flow''s latent space. On a spectroscopic sample that is two magnitudes deeper than the training data, the fraction of catastrophic outliers with a quoted uncertainty below 0.05 falls from 6.2\% to 0.7\%. The price is a 20\% broader median posterior. Redshift distributions in tomographic bins are biased by less than 0.002, within requirements. Tests with simulated failures of the photometry, such as a missing band, a wrong zero point, or blends of two galaxies, show that the warning works for all but the last: blends have colours that look plausible. For dwarf galaxies, which are underrepresented in all training samples, the density widens so much that few of them survive common quality cuts, and we caution against selecting by width.','astro-ph.CO','["astro-ph.CO", "astro-ph.IM", "cs.LG"]','2026-11-18T21:50:24+00:00','2026-11-18T21:50:24+00:00','12 pages, 8 figures; code on request','','2026-11-20T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90008',1,'Minimax estimation of a kernel mean under a budget of privacy','["Serafina Oyelaran", "Kristóf Halldén", "Bích Ngọc Võ-Carter"]','We determine the minimax rate for estimating the mean embedding of a distribution in a reproducing kernel Hilbert space from $n$ samples, under $\varepsilon$-local differential privacy. For kernels with eigenvalues that decay as $j^{-2\beta}$ the squared error is of order $(n \varepsilon^2)^{-(2\beta - 1)/(2\beta)}$, up to a logarithm, and a mechanism attains it which releases one bit per sample. Consequences for two-sample tests with statistical guarantees are worked out, including the loss against the non-private maximum mean discrepancy: at $\varepsilon = 1$ and $\beta = 2$ one needs about nine times the sample. If the kernel may be chosen after seeing a public sample of size $\sqrt{n}$, the loss shrinks to a factor of four. Numerical experiments on synthetic data and on the commuting times of a city confirm the rates.','math.ST','["math.ST", "stat.ML", "stat.TH"]','2026-11-18T21:56:24+00:00','2026-11-18T21:56:24+00:00','25 pages','','2026-11-20T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90044',1,'Do prompt templates matter for questions about tables? Yes, until you shuffle the columns','["Valentina Orsoni-Reyes", "Đỗ Minh Trí", "Jasper Ndlovu"]','Dozens of templates have been proposed for asking language models about tables. We compare 36 of them on five data sets with nine models. Differences of up to 14 points in accuracy between templates shrink to 3 points once the columns are shuffled in few-shot examples, which suggests that templates mostly leak the position of the answer. Markdown, JSON and comma-separated values are equivalent within error bars. We advise to report results over shuffles and give a script of 60 lines that does it. The effect is largest for small models and for tables of more than twelve columns. It persists with chains of thought, and it vanishes if the table is given as a list of sentences, at 2.4 times the tokens. Three published rankings of templates reverse under shuffling, one of them our own.','cs.LG','["cs.LG", "cs.CL"]','2026-11-19T14:13:48+00:00','2026-11-19T14:13:48+00:00','','','2026-11-20T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90046',1,'No bad valleys: connected minima in the loss landscape of deep linear mixtures','["Gautier Nwosu", "Henrike Valdmanis", "Shuyi Ouyang"]','We study the loss landscape of mixtures of $k$ deep linear networks with a softmax gate, in dimension $d$. If $k < d$ and the data are in general position, every local minimum is global and the set of minima is connected by paths along which the loss does not rise. If $k \geq d$, bad valleys exist, and we construct one from nine points in the plane. The proof treats the gate as a soft partition and uses a topological argument instead of the second-order conditions that are usual in the theory of linear networks; it covers any convex loss. We explain with it why experts "die" during optimisation: gradient descent passes a saddle whose escape direction has a curvature of $k^{-3}$. Counting such saddles leads to a prediction for the fraction of dead experts, which agrees with simulations for $d \leq 64$ and, surprisingly, also with the routing of two language models with 16 and 64 experts per layer, although these are neither linear nor trained on data in general position. A change of the gate''s temperature by a factor that depends on $k$ alone halves the number of dead experts. We have no theory for networks with shared experts.','stat.ML','["stat.ML", "cs.LG", "math.OC"]','2026-11-19T14:29:24+00:00','2026-11-19T14:29:24+00:00','14 pages','','2026-11-20T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90054',1,'Changing-look quasars in ten years of nightly monitoring','["Devraj Sundaresan-Holt", "Alizée Marchand-Diop", "Pekka Rautavaara"]','We search light curves and spectra of 31,000 quasars for objects whose broad lines appear or vanish. Ten years of nightly monitoring yield 214 changing-look quasars, of which 163 are new. Transitions take 0.8 years in the median and are twice as frequent among black holes accreting below 2\% of the Eddington rate. Mid-infrared echoes follow in all cases that could be tested, which rules out obscuration. Recurrences in 19 objects point to an instability of the inner accretion disc with a duty cycle of five to ten years. Among objects with more than one transition, the brightening is faster than the fading by a factor of $1.7 \pm 0.2$. A machine-readable table, all light curves, and 1,100 new spectra are provided. We predict transitions within the next two years for 28 quasars and encourage observers to falsify the predictions, which were made before the monitoring season started.','astro-ph.GA','["astro-ph.GA", "astro-ph.HE"]','2026-11-19T17:31:12+00:00','2026-11-19T17:31:12+00:00','','','2026-11-20T07:00:00+00:00');
INSERT INTO "papers" VALUES('2611.90056',1,'Reionisation as seen from a small galaxy: fossils in the star formation histories of nine Local Group dwarfs','["Ginevra Abruzzese-Ito", "Olumide Kettunen", "Sushila Thapa-Winther", "Anouk ter Horst", "Caoimhe O''Flanagan-Wu"]','We derive star formation histories of nine isolated dwarf galaxies of the Local Group from colour--magnitude diagrams that reach the oldest main-sequence turn-off. All formed 15--40\% of their stars before $z = 6$; seven of them then paused for 1.5--4 Gyr and resumed. The pause starts at $z = 5.6 \pm 0.5$, is longer for lower present halo masses, and is absent from the two most massive dwarfs. In a model where an ultraviolet background photo-heats gas after reionisation, the length of the pause measures how far a halo lay below the mass that retains gas, and so dates its growth. We infer that reionisation ended early, at $z = 6.9 \pm 0.4$, in the volume that became the Local Group. Metallicities of 840 stars show no enrichment during the pause, as expected. Systematic differences between three libraries of stellar evolution amount to 0.6 Gyr at the oldest ages; they dominate our errors. Deeper data for three further dwarfs have been scheduled.','astro-ph.GA','["astro-ph.GA"]','2026-11-19T18:01:48+00:00','2026-11-19T18:01:48+00:00','26 pages, 17 figures','','2026-11-20T07:00:00+00:00');
CREATE TABLE "scores" (
    list text not null,
    arxiv_id text not null,
    criteria text not null,     -- fingerprint of rubric and topics
    model text not null,
    relevance integer not null,
    novelty integer,
    comment text not null,
    at text not null,
    primary key (list, arxiv_id, criteria, model)
) strict, without rowid;
INSERT INTO "scores" VALUES('foundations','2611.90001','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90003','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90005','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-20T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90007','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-20T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90008','46369c0d5d7269f6','gpt-6-luna',4,8,'','2026-11-20T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90042','46369c0d5d7269f6','gpt-6-luna',4,8,'','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90043','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90044','46369c0d5d7269f6','gpt-6-luna',4,8,'','2026-11-20T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90046','46369c0d5d7269f6','gpt-6-luna',4,8,'','2026-11-20T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90051','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90052','46369c0d5d7269f6','gpt-6-luna',4,8,'','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('foundations','2611.90053','46369c0d5d7269f6','gpt-6-luna',9,8,'It matters.','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('galaxies','2611.90002','1eb4ee89194e88bd','gpt-6-luna',4,8,'','2026-11-19T07:00:00+00:00');
INSERT INTO "scores" VALUES('galaxies','2611.90041','1eb4ee89194e88bd','gpt-6-luna',9,8,'It matters.','2026-11-19T07:00:00+00:00');
CREATE TABLE secrets (
    name text primary key,
    value blob not null
) strict
;
INSERT INTO "secrets" VALUES('mail',X'E039EB06AD41CD3809A19F3244C9E9C902E267D600FFCCC17002E3713C12A062');
CREATE TABLE seen (
    list text not null,
    arxiv_id text not null,
    became text not null,
    date text not null,         -- the list's day on which it became so
    primary key (list, arxiv_id)
) strict, without rowid;
INSERT INTO "seen" VALUES('foundations','2611.90001','selected','2026-11-19');
INSERT INTO "seen" VALUES('foundations','2611.90003','selected','2026-11-19');
INSERT INTO "seen" VALUES('foundations','2611.90005','selected','2026-11-20');
INSERT INTO "seen" VALUES('foundations','2611.90007','selected','2026-11-20');
INSERT INTO "seen" VALUES('foundations','2611.90008','below','2026-11-20');
INSERT INTO "seen" VALUES('foundations','2611.90042','below','2026-11-19');
INSERT INTO "seen" VALUES('foundations','2611.90043','selected','2026-11-19');
INSERT INTO "seen" VALUES('foundations','2611.90044','below','2026-11-20');
INSERT INTO "seen" VALUES('foundations','2611.90046','below','2026-11-20');
INSERT INTO "seen" VALUES('foundations','2611.90051','selected','2026-11-19');
INSERT INTO "seen" VALUES('foundations','2611.90052','author match','2026-11-19');
INSERT INTO "seen" VALUES('foundations','2611.90053','author match','2026-11-19');
INSERT INTO "seen" VALUES('galaxies','2611.90002','below','2026-11-19');
INSERT INTO "seen" VALUES('galaxies','2611.90041','selected','2026-11-19');
CREATE TABLE spending (
    id integer primary key,
    list text not null,
    date text,                  -- the list's day it counts towards; null until that day is frozen
    model text not null,
    at text not null,
    calls integer not null,
    prompt_tokens integer not null,
    cached_tokens integer not null,
    cache_write_tokens integer not null,
    completion_tokens integer not null,
    reasoning_tokens integer not null,
    prompt_usd real,            -- null: the price is unknown
    completion_usd real
) strict;
INSERT INTO "spending" VALUES(1,'foundations','2026-11-19','gpt-6-luna','2026-11-19T07:00:00+00:00',1,2511,0,0,266,140,0.002511,0.001596);
INSERT INTO "spending" VALUES(2,'galaxies','2026-11-19','gpt-6-luna','2026-11-19T07:00:00+00:00',1,1211,0,0,77,40,0.001211,0.000462);
INSERT INTO "spending" VALUES(3,'foundations','2026-11-20','gpt-6-luna','2026-11-20T07:00:00+00:00',1,1809,0,0,187,100,0.001809,0.001122);
CREATE TABLE started (
    list text not null,
    way text not null,          -- by which papers come to it: a primary category, or "cross-list" and a category
    at text not null,
    primary key (list, way)
) strict, without rowid;
INSERT INTO "started" VALUES('foundations','cross-list cs.LG','2026-11-20T07:00:00+00:00');
INSERT INTO "started" VALUES('foundations','cross-list stat.ML','2026-11-20T07:00:00+00:00');
INSERT INTO "started" VALUES('foundations','cs.LG','2026-11-20T07:00:00+00:00');
INSERT INTO "started" VALUES('foundations','stat.ML','2026-11-20T07:00:00+00:00');
INSERT INTO "started" VALUES('galaxies','astro-ph.GA','2026-11-20T07:00:00+00:00');
INSERT INTO "started" VALUES('galaxies','cross-list astro-ph.GA','2026-11-20T07:00:00+00:00');
CREATE TABLE suppressions (
    address text not null,      -- casefolded
    list text not null,         -- empty: from any list
    reason text not null,       -- for people
    at text not null,           -- since when it holds, or last held
    holds integer not null,
    lifted text, tell text not null default '',                -- when it last was; bounces before that do not count again
    primary key (address, list)
) strict, without rowid;
INSERT INTO "suppressions" VALUES('oscar@example.org','','by hand','2026-11-20T07:00:00+00:00',1,NULL,'');
CREATE TABLE tries (list text not null, arxiv_id text not null, mornings integer not null, primary key (list, arxiv_id)) strict, without rowid;
CREATE TABLE troubles (
    list text primary key,      -- it is still due
    reason text not null,       -- for people: why its last try came to nothing
    at text not null
, since text not null default '') strict, without rowid;
INSERT INTO "troubles" VALUES('galaxies','scored 0 of 2: the LLM at http://127.0.0.1:9/v1 cannot be reached ([Errno 111] Connection refused)','2026-11-20T07:00:00+00:00','2026-11-20T07:00:00+00:00');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX spending_open on spending (list) where date is null;
CREATE INDEX spending_at on spending (at);
CREATE INDEX deliveries_waiting on deliveries (state) where state in ('pending', 'sending', 'deferred');
CREATE INDEX deliveries_address on deliveries (address collate nocase, digest_id);
CREATE INDEX deliveries_bounced on deliveries (address collate nocase) where bounce = 1;
CREATE INDEX deliveries_given_up on deliveries (given_up) where given_up = 1;
COMMIT;
