"""Chinese: self-harm that is planned (means, place, time, farewell), weariness of life that is not, everyday talk."""

# ruff: noqa: E501, S311 - rows are data, and chance is no secret here
from __future__ import annotations

import random

from training.rows.grammar import fill

SLOTS = {
    name: words.split("|")
    for name, words in {
        "means": "跳楼|跳河|跳海|割腕|烧炭|上吊|吃安眠药|喝农药|卧轨|跳下去|吞药|开煤气|吊死|一瓶安眠药|割脉|撞车|服毒|从天台跳下去|吃药自杀",
        "other": "烧炭|吃药|上吊|安眠药|跳水|溺水|割腕|跳桥",
        "city": "武汉|江西|广东|北京|成都|黑龙江|上海|河南|西安|杭州|有没有",
        "when": "今晚|明天|今天|这个周末|等爸妈睡了|考完试|生日那天|现在|过几天|七月|下周|凌晨",
        "place": "天台|桥上|楼顶|宿舍|海边|18楼|浴缸里|铁轨边|窗台|江边|酒店",
        "who": "妈妈|爸爸|大家|朋友们|你们|孩子|奶奶|这个世界|老师",
        "why": "太累了|撑不下去了|没有人爱我|活着没意思|我是个累赘|欠了太多钱|抑郁症折磨我|她走了|看不到希望|什么都没了",
        "thing": "天气|作业|晚饭|电影|游戏|工作|地铁|猫|奶茶|手机|考试|篮球|周末|头发|房租|旅行|音乐|面试|快递|宿舍",
        "act": "写一首诗|推荐一本书|翻译这句话|做一道红烧肉|写一封邮件|解释一下光合作用|安排一次旅行|修改简历|学英语|买一台电脑",
        "feel": "开心|难过|无聊|烦|累|激动|紧张|失望|生气|孤单",
    }.items()
}
PLAN = [
    "{when}我就{means}", "我想{means}", "{means}会死吗", "{means}疼不疼？", "第二次{means}了", "我在{place}，准备{means}", "再见了，{who}", "遗书已经写好了，{when}就走", "{who}对不起，我先走了", "怎么{means}才不痛苦", "{means}需要多少", "我买好了药，{when}吃", "已经割了，血一直流", "我决定了，{when}结束自己的生命", "站在{place}往下看，真想{means}", "听说{means}不错", "安眠药要吃多少片才会死", "我把遗书放在抽屉里了",
    "有没有人一起{means}，约一个", "{why}，{when}{means}", "{means}吧，一了百了", "我{place}了，风好大，再见", "如果我{means}，{who}会难过吗", "割腕要割多深", "已经{means}过一次，这次不会失败", "倒计时三天，{when}就解脱了", "在哪里可以买到{means}的东西", "走之前把猫送人了，{when}{means}", "刀就放在枕头下面", "药已经吞了",
    "{city}约死的有没有", "约{means}吗", "{city}有人一起走吗，一个人有点怕", "想一起走的私信我", "找个人一起{means}，认真的", "有没有人愿意带上我一起走", "上次{means}失败了", "{means}失败了，被人救了回来，下次不会", "{means}难受还是{other}难受", "{means}太疼，{other}好一点吧", "想过{means}，又想过{other}", "我怕血，{means}做不到，还是{other}吧", "听说{means}成功率最高", "手腕上的伤疤又多了一道", "控制不住割自己，胳膊上全是伤", "每次走到窗边都想跳下去", "打开窗户，腿已经在外面了", "我羡慕那个{means}的人，什么时候我也有这勇气", "下一个{means}的会是我", "准备{other}了，家里没有方便的地方", "把器官捐献签了，{when}就可以走了", "吃多少药才不会被救回来", "不想被救，要怎么{means}", "{city}，烧炭，女生，私聊",
]  # fmt: skip
WEARY = [
    "有时候觉得死了就好了，{why}", "好想死，可是放不下{who}", "我也想离开这个世界，{why}", "活着真累，{why}，可是还得活下去", "每天都在想活着的意义是什么，{why}", "想死又不敢死", "不想活了，{why}，但是舍不得{who}", "真的好想哭，{why}", "我常常幻想自己消失，{why}", "我好想去死，{thing}又出问题了，她还没回微信", "以前想过死，现在想明白了，要好好活着", "他骂我的时候我想去死，但我知道不值得", "如果没有{who}，我早就不想活了", "死是什么感觉呢，{why}，睡不着的时候总想这些", "夏天和死我选择死哈哈", "{why}，抑郁症又犯了，今天吃了药，希望会好", "我朋友说想死，我不知道怎么安慰她", "室友说生命那么美好，可我并不觉得，{why}",
    "突然好想去死一死", "我也好想去死一死啊，{why}", "想去死一死了", "好想离开这个世界，可是缺少勇气", "真的坚持不下去了，想离开，又有点不敢", "你带我离开这个世界吧，{why}", "我还是应该去死的，这样就不用麻烦{who}", "我今天也还活着", "好累啊，什么都不想做", "最近看到很多人走了，心里很难受", "{who}都希望我去死吧，{why}", "我不敢，不然早结束了", "如果能消失就好了，{feel}得睡不着", "哪天彻底崩溃了可能就离开这世界", "想死的心情和对{who}的留念不停拉扯", "既然狠不下心，那就再撑一撑吧", "生活毫无盼望，{why}，你说怎样才能离开", "千万不要，再想想，{who}会难过的", "死了就不用{thing}了，哈哈", "梦见自己离开了，醒来还是一样{feel}", "等我把歌听够了就不活了，开玩笑的",
]  # fmt: skip
COMMON = [
    "今天的{thing}真让人{feel}", "请帮我{act}", "{thing}怎么样？", "你喜欢{thing}吗", "我觉得{thing}很{feel}", "如何{act}？", "笑死我了，{thing}太搞笑了", "{thing}累死了，早点睡", "热死了，{thing}快没了", "为什么{thing}这么贵？", "请介绍一下自杀预防热线", "怎么帮助一个想自杀的朋友？", "抑郁症的症状有哪些？怎么治疗？", "安眠药的副作用是什么？", "切菜割到手了怎么处理", "这部电影讲一个女孩跳楼后被救的故事", "蹦极跳下去的那一刻太刺激了", "跳水运动员从十米台跳下去", "明天一起去海边看日出吧", "{who}生日快乐！", "{who}，晚安，明天见", "新闻说一名男子跳河救人", "怎样防止孩子自残？", "烧烤用什么炭比较好", "死机了怎么办，{thing}打不开",
    "游戏里我又死了三次", "我好{feel}，想吃火锅", "谁能给我讲讲{thing}的历史", "用一句话描述{thing}", "老师，{thing}的作业什么时候交？",
]  # fmt: skip
WEARY_SHARE = 1  # of five


def _many(templates: list[str], count: int, chance: random.Random) -> list[str]:
    made: dict[str, None] = {}
    for _ in range(count * 4):
        text = fill(chance.choice(templates), SLOTS, chance)
        if chance.random() < 0.35:
            text += chance.choice(["，", "。", " ", "…"]) + fill(chance.choice(templates), SLOTS, chance)
        made[text] = None
        if len(made) >= count:
            break
    return list(made)


def self_harm() -> tuple[list[str], list[int]]:
    """Texts and labels. Weariness is in the middle: some of its rows count as harm."""
    chance = random.Random(7)
    plan, weary, common = _many(PLAN, 1_500, chance), _many(WEARY, 1_200, chance), _many(COMMON, 1_200, chance)
    long = [f"{fill(chance.choice(COMMON), SLOTS, chance)}。{text}" for text in weary[::2]]
    return plan + weary + long + common, [1] * len(plan) + [i % 5 < WEARY_SHARE for i in range(len(weary + long))] + [
        0
    ] * len(common)
